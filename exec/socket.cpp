#include "exec/socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace tutti {
namespace {

constexpr int most_waiting_connections = 4096;

struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList look_up(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(),
                               &hints, &found);
  if (code != 0) {
    throw Error(ErrorKind::system,
                fmt::format("cannot find the address of host '{}': {}", host, gai_strerror(code)));
  }
  return {found, freeaddrinfo};
}

Address numeric(const Member& member) {
  const AddressList found = look_up(member.address, member.port, AI_NUMERICHOST | AI_PASSIVE);
  Address address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  return address;
}

Member member_of(const Address& address) {
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  const int code = getnameinfo(address.get(), address.bytes, host, sizeof(host), port, sizeof(port),
                               NI_NUMERICHOST | NI_NUMERICSERV);
  if (code != 0) return {};
  std::string text = host;
  // What an IPv4 peer of an IPv6 socket looks like.
  if (text.starts_with("::ffff:") && text.find('.') != std::string::npos) text.erase(0, 7);
  return {text, static_cast<std::uint16_t>(std::stoi(port))};
}

void set_option(const Descriptor& socket, int level, int name, int value) {
  setsockopt(socket.value(), level, name, &value, sizeof(value));
}

Descriptor make_socket(int family) {
  Descriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made.is_open()) {
    throw Error(ErrorKind::system, fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  return made;
}

}  // namespace

void Descriptor::reset(int value) {
  if (value_ >= 0) close(value_);
  value_ = value;
}

std::string describe(const Member& member) {
  const bool is_v6 = member.address.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_v6 ? "[{}]:{}" : "{}:{}"),
                     member.address.empty() ? "*" : member.address, member.port);
}

std::vector<Member> resolve(const std::string& host, std::uint16_t port) {
  const AddressList found = look_up(host, port, 0);
  std::vector<Member> members;
  for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
    Address address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.bytes = entry->ai_addrlen;
    members.push_back(member_of(address));
  }
  return members;
}

Descriptor listen_at(const Member& member) {
  // An IPv6 socket takes connections of both kinds, where the host knows IPv6.
  Address address;
  Descriptor socket;
  try {
    address = numeric(member.address.empty() ? Member{"::", member.port} : member);
    socket = make_socket(address.storage.ss_family);
  } catch (const Error&) {
    if (!member.address.empty()) throw;
    address = numeric({"0.0.0.0", member.port});
    socket = make_socket(address.storage.ss_family);
  }
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, member.address.empty() ? 0 : 1);
  }
  if (bind(socket.value(), address.get(), address.bytes) < 0 ||
      listen(socket.value(), most_waiting_connections) < 0) {
    throw Error(ErrorKind::system,
                fmt::format("cannot listen at {}: {}; choose another address or port",
                            describe(member), std::strerror(errno)));
  }
  return socket;
}

Member local_member(const Descriptor& socket) {
  Address address;
  if (getsockname(socket.value(), address.get(), &address.bytes) < 0) return {};
  return member_of(address);
}

Member remote_member(const Descriptor& socket) {
  Address address;
  if (getpeername(socket.value(), address.get(), &address.bytes) < 0) return {};
  return member_of(address);
}

Descriptor start_connecting(const Member& member, const std::string& source) {
  const Address address = numeric(member);
  Descriptor socket = make_socket(address.storage.ss_family);
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (!source.empty()) {
    const Address from = numeric({source, 0});
    if (bind(socket.value(), from.get(), from.bytes) < 0) {
      throw Error(ErrorKind::system,
                  fmt::format("cannot send from {}: {}", source, std::strerror(errno)));
    }
  }
  if (connect(socket.value(), address.get(), address.bytes) < 0 && errno != EINPROGRESS) {
    throw Error(ErrorKind::system,
                fmt::format("cannot connect to {}: {}", describe(member), std::strerror(errno)));
  }
  return socket;
}

int connect_error(const Descriptor& socket) {
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (getsockopt(socket.value(), SOL_SOCKET, SO_ERROR, &error, &bytes) < 0) return errno;
  return error;
}

Descriptor accept_from(const Descriptor& listener) {
  Descriptor socket(accept4(listener.value(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.is_open()) set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

}  // namespace tutti
