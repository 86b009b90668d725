#include "experiments/content_hash.hpp"

#include <fmt/format.h>

#include <bit>

namespace tutti {

void ContentHash::add_bytes(std::string_view bytes) {
  for (const char byte : bytes) {
    hash_ ^= static_cast<unsigned char>(byte);
    hash_ *= 0x100000001b3;
  }
}

void ContentHash::add(std::string_view text) {
  add(static_cast<double>(text.size()));
  add_bytes(text);
}

void ContentHash::add(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) {
    const char byte = static_cast<char>(bits >> shift);
    add_bytes({&byte, 1});
  }
}

void ContentHash::add(const Shape& shape) {
  add(shape.name);
  add(static_cast<double>(shape.hosts.size()));
  for (const Host& host : shape.hosts) {
    add(host.reduction_bytes_per_second.value_or(0.0));
    add(host.cores);
    add(host.send_overhead_seconds);
    add(host.receive_overhead_seconds);
    add(host.speed);
    add(host.machine);
  }
  for (const Node& node : shape.nodes) add(node.name);
  for (const Link& link : shape.links) {
    add(link.name);
    add(link.link_class);
    for (const int number : {link.from, link.to, link.opposite, link.failed ? 1 : 0}) add(number);
    add(link.bandwidth_bytes_per_second);
    add(link.latency_seconds);
  }
  for (const int host : shape.placement) add(host);
}

std::string ContentHash::text() const {
  return fmt::format("{:016x}", hash_);
}

}  // namespace tutti
