// Kinds that are written as lists of parts: product, machine, graph.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "topologies/fabrics.hpp"
#include "topologies/kinds.hpp"

namespace tutti {
namespace {

LinkSpec link_of(const Fields& links, std::string_view name) {
  const Fields fields = links.fields(name);
  fields.check_keys({"bandwidth", "latency", "overhead", "duplex"});
  return read_link(fields);
}

GraphSpec::GraphNode read_node(const Fields& fields, std::size_t index) {
  const DocumentNode& node = fields.list("nodes")[index];
  if (node.kind == DocumentNode::Kind::word) return {read_label(fields, node), true};
  const Fields map = fields.element_fields("nodes", index);
  map.check_keys({"name", "kind"});
  map.word("name");
  const bool is_host = !map.has("kind") || map.choice("kind", {"host", "switch"}) == 0;
  return {read_label(map, map.value("name")), is_host};
}

/// The names of a graph's nodes, to refuse others with the nearest that there is.
class NodeNames {
 public:
  explicit NodeNames(const GraphSpec& spec) {
    for (const GraphSpec::GraphNode& node : spec.nodes) names_.insert(node.name);
  }

  const std::string& checked(const Fields& fields, const DocumentNode& name) const {
    if (name.kind != DocumentNode::Kind::word) {
      fields.fail_at(name, "", "expected the name of a node");
    }
    if (names_.contains(name.text)) return name.text;
    constexpr std::size_t most_compared = 100000, most_shown = 6;
    std::vector<std::string_view> valid(names_.begin(), names_.end());
    std::sort(valid.begin(), valid.end());
    valid.resize(std::min(valid.size(), most_compared));
    fields.fail_at(
        name, "",
        fmt::format("no node {}, {}", quote(name.text), hint_for(name.text, valid, most_shown)));
  }

 private:
  std::unordered_set<std::string_view> names_;  ///< Of the nodes that it was made of.
};

GraphSpec::GraphCable read_cable(const Fields& fields, const NodeNames& names) {
  fields.check_keys({"between", "bandwidth", "latency", "overhead", "duplex", "class"});
  if (fields.list("between").size() != 2) {
    fields.fail_at(fields.has("between") ? fields.value("between") : fields.map(), "",
                   "expected 'between: [a, b]', the names of two nodes");
  }
  GraphSpec::GraphCable cable;
  cable.from = names.checked(fields, fields.list("between")[0]);
  cable.to = names.checked(fields, fields.list("between")[1]);
  cable.spec.bandwidth_bytes_per_second = fields.bandwidth("bandwidth");
  cable.spec.latency_seconds = fields.duration("latency");
  if (fields.has("overhead")) cable.spec.overhead_seconds = fields.duration("overhead");
  const std::size_t duplex =
      fields.has("duplex") ? fields.choice("duplex", {"full", "shared", "one_way"}) : 0;
  cable.spec.shared = duplex == 1;
  cable.one_way = duplex == 2;
  if (fields.has("class")) cable.link_class = read_label(fields, fields.value("class"));
  return cable;
}

GraphSpec::GraphRoute read_route(const Fields& fields, std::size_t index, const NodeNames& names) {
  const DocumentNode* list = &fields.list("routes")[index];
  GraphSpec::GraphRoute route;
  if (list->kind != DocumentNode::Kind::list) {
    const Fields map = fields.element_fields("routes", index);
    map.check_keys({"nodes", "both_ways"});
    list = &map.value("nodes");
    map.list("nodes");
    route.both_ways = !map.has("both_ways") || map.choice("both_ways", {"false", "true"}) == 1;
  }
  for (const DocumentNode& node : list->children) {
    route.nodes.push_back(names.checked(fields, node));
  }
  return route;
}

}  // namespace

Fabric read_product(const Fields& fields) {
  std::vector<ProductDimension> dimensions;
  fields.value("dimensions");
  for (std::size_t index = 0; index < fields.list("dimensions").size(); ++index) {
    const Fields part = fields.element_fields("dimensions", index);
    part.check_keys({"kind", "size", "bandwidth", "latency", "overhead", "duplex"});
    const std::size_t kind = part.choice("kind", {"ring", "line", "fully_connected", "switch"});
    dimensions.push_back(
        {static_cast<ProductDimension::Kind>(kind), part.count("size"), read_link(part)});
  }
  return fields.built([&] { return product(dimensions); });
}

Fabric read_machine(const Fields& fields) {
  const Fields links = fields.fields("links");
  links.check_keys({"device", "pcie"});
  MachineSpec spec;
  spec.devices = fields.count("devices");
  if (fields.has("nics")) spec.nics = fields.count("nics", 0);
  if (fields.has("pcie_switches")) spec.pcie_switches = fields.count("pcie_switches", 0);
  spec.interconnect = static_cast<MachineSpec::Interconnect>(
      fields.choice("interconnect", {"switch", "mesh", "ring", "pcie"}));
  if (spec.interconnect != MachineSpec::Interconnect::pcie) {
    spec.device = link_of(links, "device");
  } else if (links.has("device")) {
    links.fail("device", "given beside 'interconnect: pcie', which has no such links");
  }
  spec.pcie = link_of(links, "pcie");
  spec.leaves_by_destination =
      fields.has("leaves_by") && fields.choice("leaves_by", {"sender", "destination"}) == 1;
  return fields.built([&] { return machine(spec); });
}

Fabric read_graph(const Fields& fields) {
  GraphSpec spec;
  fields.value("nodes");
  for (std::size_t index = 0; index < fields.list("nodes").size(); ++index) {
    spec.nodes.push_back(read_node(fields, index));
  }
  const NodeNames names(spec);
  for (std::size_t index = 0; index < fields.list("links").size(); ++index) {
    spec.cables.push_back(read_cable(fields.element_fields("links", index), names));
  }
  for (std::size_t index = 0; index < fields.list("routes").size(); ++index) {
    spec.routes.push_back(read_route(fields, index, names));
  }
  if (fields.has("metric") && fields.choice("metric", {"hops", "latency"}) == 1) {
    spec.metric = Metric::latency;
  }
  return fields.built([&] { return graph(spec); });
}

}  // namespace tutti
