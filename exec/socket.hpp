// Sockets: descriptors that close themselves, listening and connecting, with errors that say where.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exec/tcp_frame.hpp"

namespace tutti {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.value_, -1));
    return *this;
  }

  int value() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  void reset(int value = -1);

 private:
  int value_;
};

/// "127.0.0.1:80", "[::1]:80".
std::string describe(const Member& member);

/// The numeric addresses of a host's name, IPv4 and IPv6, each with `port`. Throws Error(system).
std::vector<Member> resolve(const std::string& host, std::uint16_t port);

/// A socket that listens at a numeric address ("" for all of the host); port 0 takes a free one.
/// Throws Error(system) that names address and port.
Descriptor listen_at(const Member& member);

/// The address that the socket has on this host, or at its other end.
Member local_member(const Descriptor& socket);
Member remote_member(const Descriptor& socket);

/// Begins to connect, without waiting, from `source` where that is not empty. Throws Error(system);
/// see connect_error().
Descriptor start_connecting(const Member& member, const std::string& source = "");

/// The error number of a connection whose socket has become writable, 0 if there is none.
int connect_error(const Descriptor& socket);

/// The next connection, or none.
Descriptor accept_from(const Descriptor& listener);

}  // namespace tutti
