#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <string_view>
#include <vector>

#include "topologies/export.hpp"
#include "topologies/export_losses.hpp"
#include "topologies/fabrics.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = ProductDimension::Kind;

constexpr std::size_t most_compared_routes = 65536;

[[noreturn]] void refuse(std::string_view reason) {
  throw ShapeError(
      fmt::format("ASTRA-sim's YAML knows only products of rings, switches and fully connected "
                  "dimensions: {}",
                  reason));
}

/// All cables of one class, which are to be one dimension.
class LinkClass {
 public:
  LinkClass(const Shape& shape, std::string_view name) : shape_(shape), name_(name) {
    neighbours_.resize(shape.nodes.size());
    for (std::size_t index = 0; index < shape.links.size(); ++index) {
      if (shape.links[index].link_class == name) add(static_cast<int>(index));
    }
  }

  /// As the dimension whose neighbours are `below` hosts apart.
  ProductDimension dimension(int below) const {
    const std::vector<int> line = line_of_first_host();
    const auto hosts = static_cast<int>(shape_.hosts.size());
    std::vector<int> members;
    std::copy_if(line.begin(), line.end(), std::back_inserter(members),
                 [hosts](int node) { return node < hosts; });
    for (std::size_t index = 0; index < members.size(); ++index) {
      if (members[index] == static_cast<int>(index) * below) continue;
      refuse(fmt::format("the links of class {} connect host 0 with others than every {}th",
                         quote(name_), below));
    }
    ProductDimension result;
    result.size = static_cast<int>(members.size());
    result.link = {first_->bandwidth_bytes_per_second, first_->latency_seconds};
    result.kind = kind(line.size() - members.size(), result.size);
    if (result.kind == Kind::switched) result.link.latency_seconds *= 2;
    return result;
  }

 private:
  void add(int index) {
    const Link& link = shape_.links[static_cast<std::size_t>(index)];
    if (link.opposite < 0 || link.is_shared(index) || link.failed) {
      refuse(fmt::format("the link {} is one-way, shared or has failed", quote(link.name)));
    }
    if (first_ == nullptr) first_ = &link;
    if (link.bandwidth_bytes_per_second != first_->bandwidth_bytes_per_second ||
        link.latency_seconds != first_->latency_seconds) {
      refuse(fmt::format("the links {} and {} of class {} differ", quote(first_->name),
                         quote(link.name), quote(name_)));
    }
    neighbours_[static_cast<std::size_t>(link.from)].push_back(link.to);
  }

  /// The nodes that host 0 reaches over this class, in order.
  std::vector<int> line_of_first_host() const {
    std::set<int> found = {0};
    std::queue<int> open({0});
    for (; !open.empty(); open.pop()) {
      for (const int next : neighbours_[static_cast<std::size_t>(open.front())]) {
        if (found.insert(next).second) open.push(next);
      }
    }
    return {found.begin(), found.end()};
  }

  Kind kind(std::size_t switches, int size) const {
    const std::size_t degree = neighbours_[0].size();
    if (switches == 1 && degree == 1) return Kind::switched;
    if (switches == 0 && degree == (size == 2 ? 1U : 2U)) return Kind::ring;
    if (switches == 0 && degree + 1 == static_cast<std::size_t>(size)) return Kind::fully_connected;
    refuse(fmt::format("the links of class {} are none of these", quote(name_)));
  }

  const Shape& shape_;
  std::string name_;
  const Link* first_ = nullptr;
  std::vector<std::vector<int>> neighbours_;
};

std::vector<ProductDimension> dimensions_of(const Shape& shape) {
  std::vector<std::string> classes;
  for (const Link& link : shape.links) {
    if (std::find(classes.begin(), classes.end(), link.link_class) != classes.end()) continue;
    classes.push_back(link.link_class);
    constexpr std::size_t most_classes = 20;
    if (classes.size() > most_classes) refuse("more classes of links than dimensions");
  }
  std::vector<ProductDimension> dimensions;
  int below = 1;
  for (const std::string& name : classes) {
    dimensions.push_back(LinkClass(shape, name).dimension(below));
    below *= dimensions.back().size;
  }
  if (dimensions.empty() || below != static_cast<int>(shape.hosts.size())) {
    refuse(
        fmt::format("the dimensions have {} hosts, the shape has {}", below, shape.hosts.size()));
  }
  return dimensions;
}

bool is_near(double left, double right) {
  return std::abs(left - right) <= 1e-9 * std::max(left, right);
}

/// Whether a product would have routes of the same length and width.
void compare_routes(const Shape& shape, const std::vector<ProductDimension>& dimensions) {
  const Shape copy = build_shape(product(dimensions));
  if (copy.links.size() != shape.links.size() || copy.nodes.size() != shape.nodes.size()) {
    refuse(fmt::format("it has {} links and {} nodes, the product of its dimensions {} and {}",
                       shape.links.size(), shape.nodes.size(), copy.links.size(),
                       copy.nodes.size()));
  }
  const std::size_t hosts = shape.hosts.size();
  const std::size_t stride = hosts * hosts / most_compared_routes + 1;
  for (std::size_t pair = 0; pair < hosts * hosts; pair += stride) {
    const int from = static_cast<int>(pair / hosts), to = static_cast<int>(pair % hosts);
    if (from == to) continue;
    if (is_near(shape.latency_seconds(from, to) - shape.overhead_seconds(shape.route(from, to)),
                copy.latency_seconds(from, to)) &&
        is_near(shape.bandwidth_bytes_per_second(from, to),
                copy.bandwidth_bytes_per_second(from, to))) {
      continue;
    }
    refuse(fmt::format("the route from {} to {} is another than that of a product",
                       quote(shape.hosts[static_cast<std::size_t>(from)].name),
                       quote(shape.hosts[static_cast<std::size_t>(to)].name)));
  }
}

std::string_view name_of(Kind kind) {
  if (kind == Kind::switched) return "Switch";
  return kind == Kind::ring ? "Ring" : "FullyConnected";
}

}  // namespace

std::string export_astra(const Shape& shape) {
  const std::vector<ProductDimension> dimensions = dimensions_of(shape);
  compare_routes(shape, dimensions);
  std::vector<std::string_view> names;
  std::vector<int> sizes;
  std::vector<double> bandwidths, latencies;
  for (const ProductDimension& dimension : dimensions) {
    names.push_back(name_of(dimension.kind));
    sizes.push_back(dimension.size);
    bandwidths.push_back(dimension.link.bandwidth_bytes_per_second / 1e9);
    // Of each of a switch's two links, as ASTRA-sim counts.
    latencies.push_back(dimension.link.latency_seconds * 1e9 /
                        (dimension.kind == Kind::switched ? 2 : 1));
  }
  return fmt::format(
      "# {}.{}\ntopology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {:.12g} ]  # GB/s\n"
      "latency: [ {:.12g} ]  # ns\n",
      shown(shape.name), sentence_of_losses(shape, ExportFormat::astra), fmt::join(names, ", "),
      fmt::join(sizes, ", "), fmt::join(bandwidths, ", "), fmt::join(latencies, ", "));
}

}  // namespace tutti
