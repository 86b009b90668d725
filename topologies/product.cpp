#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/figures.hpp"

namespace tutti {
namespace {

using Kind = ProductDimension::Kind;

/// More would all be of size 1.
constexpr std::size_t most_dimensions = 20;

/// One dimension: the lines of hosts that differ in its coordinate only, each with a network of its
/// own, whose links follow each other.
struct Dimension {
  Kind kind = Kind::ring;
  int size = 0;
  int below = 1;            ///< Hosts between neighbours: the product of the sizes before.
  int lines = 1;            ///< Hosts divided by size.
  int links_per_cable = 2;  ///< 1 if both directions share it.
  int first_link = 0;
  int first_switch = 0;  ///< The node of line 0.

  bool wraps() const { return kind == Kind::ring && size > 2; }

  std::int64_t cables_per_line() const {
    if (size == 1) return 0;
    if (kind == Kind::switched) return size;
    if (kind == Kind::fully_connected) return std::int64_t{size} * (size - 1) / 2;
    return wraps() ? size : size - 1;
  }

  int coordinate(int host) const { return host / below % size; }
  int line(int host) const { return host / below / size * below + host % below; }
  int host(int line, int coordinate) const {
    return line / below * below * size + coordinate * below + line % below;
  }

  int link(int line, int cable, bool forth) const {
    const int index = line * static_cast<int>(cables_per_line()) + cable;
    return first_link + index * links_per_cable + (forth ? 0 : links_per_cable - 1);
  }

  static int cable_between(int low, int high) { return high * (high - 1) / 2 + low; }

  /// From coordinate `from` to another one along the line.
  void append(Route& route, int line, int from, int to) const {
    if (kind == Kind::switched) {
      route.push_back(link(line, from, true));
      route.push_back(link(line, to, false));
    } else if (kind == Kind::fully_connected) {
      route.push_back(link(line, cable_between(std::min(from, to), std::max(from, to)), from < to));
    } else {
      append_steps(route, line, from, to);
    }
  }

  void append_steps(Route& route, int line, int from, int to) const {
    const int upwards = (to - from + size) % size;
    const bool forth = wraps() ? upwards <= size - upwards : to > from;
    while (from != to) {
      const int previous = (from + size - 1) % size;
      route.push_back(link(line, forth ? from : previous, forth));
      from = forth ? (from + 1) % size : previous;
    }
  }

  void add_cables(FabricBuilder& builder, const LinkSpec& spec, const std::string& name) const {
    for (int at = 0; at < lines && size > 1; ++at) {
      if (kind == Kind::fully_connected) {
        for (int high = 1; high < size; ++high) {
          for (int low = 0; low < high; ++low) {
            builder.add_cable(host(at, low), host(at, high), spec, name);
          }
        }
        continue;
      }
      for (int cable = 0; cable < static_cast<int>(cables_per_line()); ++cable) {
        const int to = kind == Kind::switched ? first_switch + at : host(at, (cable + 1) % size);
        builder.add_cable(host(at, cable), to, spec, name);
      }
    }
  }
};

void check(const std::vector<ProductDimension>& dimensions, std::string_view size_key) {
  if (dimensions.empty() || dimensions.size() > most_dimensions) {
    throw ShapeError(fmt::format("'dimensions' has {} entries, expected 1 to {}", dimensions.size(),
                                 most_dimensions));
  }
  std::vector<int> sizes;
  for (const ProductDimension& dimension : dimensions) {
    require_within(size_key, dimension.size, 1, maximum_hosts);
    if (dimension.size > 1) require_link("", dimension.link);
    sizes.push_back(dimension.size);
  }
  const std::int64_t hosts = saturating_product(sizes);
  if (hosts <= maximum_hosts) return;
  throw ShapeError(
      fmt::format("dimensions of {} have more than {} hosts", shown_sizes(sizes), maximum_hosts));
}

std::vector<Dimension> numbered(const std::vector<ProductDimension>& specs, int hosts) {
  std::vector<Dimension> dimensions;
  int below = 1;
  for (const ProductDimension& spec : specs) {
    dimensions.push_back({.kind = spec.kind,
                          .size = spec.size,
                          .below = below,
                          .lines = hosts / spec.size,
                          .links_per_cable = spec.link.shared ? 1 : 2});
    below *= spec.size;
  }
  return dimensions;
}

void reserve(FabricBuilder& builder, const std::vector<Dimension>& dimensions, int hosts) {
  std::int64_t nodes = hosts, cables = 0;
  for (const Dimension& dimension : dimensions) {
    if (dimension.kind == Kind::switched && dimension.size > 1) nodes += dimension.lines;
    cables += dimension.lines * dimension.cables_per_line();
  }
  builder.reserve(nodes, cables);
}

Fabric named_product(const std::string& name, const std::vector<ProductDimension>& specs) {
  int hosts = 1;
  for (const ProductDimension& spec : specs) hosts *= spec.size;
  std::vector<Dimension> dimensions = numbered(specs, hosts);
  FabricBuilder builder(name);
  reserve(builder, dimensions, hosts);
  for (int host = 0; host < hosts; ++host) builder.add_terminal(fmt::format("host-{}", host));
  for (std::size_t index = 0; index < dimensions.size(); ++index) {
    Dimension& dimension = dimensions[index];
    dimension.first_link = static_cast<int>(builder.links().size());
    const bool switched = dimension.kind == Kind::switched && dimension.size > 1;
    for (int line = 0; switched && line < dimension.lines; ++line) {
      const int node = builder.add_node(fmt::format("switch-{}-{}", index + 1, line));
      if (line == 0) dimension.first_switch = node;
    }
    const LinkSpec& link = specs[index].link;
    dimension.add_cables(builder, switched ? half_of(link) : link,
                         fmt::format("dimension-{}", index + 1));
  }
  return std::move(builder).build([dimensions = std::move(dimensions)](int from, int to) {
    Route route;
    for (const Dimension& dimension : dimensions) {
      const int here = dimension.coordinate(from), there = dimension.coordinate(to);
      if (here == there) continue;
      const int line = dimension.line(from);
      dimension.append(route, line, here, there);
      from = dimension.host(line, there);
    }
    return route;
  });
}

std::string_view word_for(Kind kind) {
  switch (kind) {
    case Kind::ring:
      return "ring";
    case Kind::line:
      return "line";
    case Kind::fully_connected:
      return "fully_connected";
    case Kind::switched:
      break;
  }
  return "switch";
}

std::vector<LinkSpec> links_of(const std::vector<ProductDimension>& dimensions) {
  std::vector<LinkSpec> links;
  for (const ProductDimension& dimension : dimensions) links.push_back(dimension.link);
  return links;
}

}  // namespace

Fabric product(const std::vector<ProductDimension>& dimensions) {
  check(dimensions, "size");
  std::vector<std::string> parts;
  for (const ProductDimension& dimension : dimensions) {
    parts.push_back(fmt::format("{} {}", word_for(dimension.kind), dimension.size));
  }
  const std::string links = shown_links(links_of(dimensions));
  return named_product(fmt::format("product({}, {})", fmt::join(parts, " x "), links), dimensions);
}

Fabric grid(const GridSpec& spec) {
  std::vector<ProductDimension> dimensions;
  for (std::size_t index = 0; index < spec.dimensions.size(); ++index) {
    dimensions.push_back({spec.wraps ? Kind::ring : Kind::line, spec.dimensions[index],
                          link_of_level(spec.links, index, spec.dimensions.size())});
  }
  check(dimensions, "dimensions");
  const std::string sizes = spec.kind == "hypercube"
                                ? fmt::format("{} dimensions", spec.dimensions.size())
                                : shown_sizes(spec.dimensions);
  return named_product(
      fmt::format("{}({}, {})", spec.kind, sizes, shown_links(links_of(dimensions))), dimensions);
}

}  // namespace tutti
