#include "emulation/probe.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/error.hpp"
#include "emulation/forked_child.hpp"
#include "process/shared_memory.hpp"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint16_t port = 29501;
constexpr int round_trips = 31;
constexpr double message_seconds = 50e-3;
constexpr int smallest_message_packets = 32;
constexpr std::size_t largest_message_bytes = std::size_t{32} << 20;
constexpr double longest_wait_seconds = 10.0;

[[noreturn]] void refuse(const char* what) {
  const bool late = errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT;
  throw Error(late ? ErrorKind::timeout : ErrorKind::system,
              fmt::format("the probe of the emulated network cannot {}: {}", what,
                          late ? "no answer in time" : std::strerror(errno)));
}

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) refuse("make a socket");
    const timeval limit{static_cast<time_t>(longest_wait_seconds), 0};
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }

  void send(const std::vector<char>& data, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t sent = ::send(descriptor_, data.data() + done, bytes - done, MSG_NOSIGNAL);
      if (sent < 0) refuse("send");
      done += static_cast<std::size_t>(sent);
    }
  }

  void receive(std::vector<char>& data, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t received = recv(descriptor_, data.data() + done, bytes - done, 0);
      if (received <= 0) refuse("receive");
      done += static_cast<std::size_t>(received);
    }
  }

 private:
  const int descriptor_;
};

sockaddr_in address_of(const EmulatedNode& node) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, node.address.c_str(), &address.sin_addr);
  return address;
}

// One byte comes back for each message.
void answer(const EmulatedNode& node, std::size_t message_bytes, int ready) {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(node);
  const int on = 1;
  // The port may have served a probe before.
  setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
          0 ||
      listen(listener.descriptor(), 1) != 0) {
    refuse("listen");
  }
  if (write(ready, "", 1) != 1) refuse("say that it listens");
  const Socket peer(accept(listener.descriptor(), nullptr, nullptr));
  std::vector<char> data(message_bytes);
  for (int trip = 0; trip < round_trips; ++trip) {
    peer.receive(data, 1);
    peer.send(data, 1);
  }
  peer.receive(data, message_bytes);
  peer.send(data, 1);
}

double round_trip_seconds(const Socket& peer, std::vector<char>& data, std::size_t bytes) {
  const Clock::time_point begin = Clock::now();
  peer.send(data, bytes);
  peer.receive(data, 1);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ProbeResult ask(const EmulatedNode& node, std::size_t message_bytes, double burst_payload_bytes) {
  const Socket peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(node);
  if (connect(peer.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0) {
    refuse("connect");
  }
  std::vector<char> data(message_bytes);
  std::array<double, round_trips> trips;
  for (double& seconds : trips) seconds = round_trip_seconds(peer, data, 1);
  std::nth_element(trips.begin(), trips.begin() + round_trips / 2, trips.end());
  const double trip = trips[round_trips / 2];
  const double message = round_trip_seconds(peer, data, message_bytes);
  return {.latency_seconds = trip / 2.0,
          .bandwidth_bytes_per_second = (static_cast<double>(message_bytes) - burst_payload_bytes) /
                                        std::max(message - trip, 1e-9)};
}

void check_end(ForkedChild& child) {
  if (child.wait() != 0) throw Error(ErrorKind::system, child.message());
}

}  // namespace

ProbeResult probe(const EmulatedNetwork& network, int from_node, int to_node,
                  double expected_bytes_per_second) {
  const EmulationPlan& plan = network.plan();
  const EmulatedNode& target = plan.nodes[static_cast<std::size_t>(to_node)];
  const auto message_bytes = std::clamp(
      static_cast<std::size_t>(
          std::min(expected_bytes_per_second * message_seconds, 1e3 * largest_message_bytes)),
      static_cast<std::size_t>(smallest_message_packets * plan.mtu_bytes), largest_message_bytes);
  const double burst_payload_bytes = burst_packets * (plan.mtu_bytes - packet_header_bytes);
  const SharedMapping memory(sizeof(ProbeResult), SharedMapping::Pages::unreserved);
  auto* const result = reinterpret_cast<ProbeResult*>(memory.data());
  std::array<int, 2> ready;
  if (pipe(ready.data()) != 0) refuse("make a pipe");
  ForkedChild server([&](int) {
    network.enter(to_node);
    answer(target, message_bytes, ready[1]);
    return 0;
  });
  close(ready[1]);
  ForkedChild client([&](int) {
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) return 0;
    network.enter(from_node);
    *result = ask(target, message_bytes, burst_payload_bytes);
    return 0;
  });
  close(ready[0]);
  check_end(client);
  check_end(server);
  return *result;
}

}  // namespace tutti
