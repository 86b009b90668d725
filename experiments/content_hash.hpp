// ContentHash: a name for everything that a result depends on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topologies/shape.hpp"

namespace tutti {

/// The same for equal contents, on any machine; FNV-1a, of 64 bits. What is added first and next is
/// never taken for one.
class ContentHash {
 public:
  void add(std::string_view text);
  void add(double value);

  /// Hosts, nodes, links, placement and name; not its routes, which follow from its file.
  void add(const Shape& shape);

  /// 16 hexadecimal digits.
  std::string text() const;

 private:
  void add_bytes(std::string_view bytes);

  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace tutti
