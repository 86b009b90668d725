#include "topologies/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/edits.hpp"
#include "topologies/fabric.hpp"
#include "topologies/fields.hpp"
#include "topologies/kinds.hpp"
#include "topologies/settings.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

std::optional<double> parse_reduction(std::string_view text) {
  if (text == "free") return std::nullopt;
  try {
    return parse_bandwidth(text);
  } catch (const ShapeError& error) {
    throw ShapeError(fmt::format("{}, or 'free'", error.what()));
  }
}

HostSpec read_host(const Fields& fields) {
  HostSpec host;
  fields.check_keys(
      {"shape", "file", "cores", "reduction", "send_overhead", "receive_overhead", "loopback"});
  if (fields.has("cores")) host.cores = fields.count("cores");
  if (fields.has("reduction")) {
    host.reduction_bytes_per_second = fields.parsed("reduction", parse_reduction);
  }
  if (fields.has("send_overhead")) host.send_overhead_seconds = fields.duration("send_overhead");
  if (fields.has("receive_overhead")) {
    host.receive_overhead_seconds = fields.duration("receive_overhead");
  }
  if (fields.has("loopback")) {
    const Fields loopback = fields.fields("loopback");
    loopback.check_keys({"bandwidth", "latency", "overhead"});
    host.loopback = read_link(loopback);
  }
  return host;
}

Placement read_placement(const Fields& fields) {
  Placement placement;
  if (!fields.has("placement")) return placement;
  const DocumentNode& node = fields.value("placement");
  if (node.kind == DocumentNode::Kind::map) {
    const Fields map = fields.fields("placement");
    map.check_keys({"random"});
    placement.kind = Placement::Kind::random;
    placement.seed = static_cast<std::uint64_t>(map.whole("random", 0, INT64_MAX));
  } else if (node.kind == DocumentNode::Kind::list) {
    placement.kind = Placement::Kind::list;
    placement.hosts = fields.counts("placement", 0);
  } else {
    constexpr Placement::Kind kinds[] = {Placement::Kind::block, Placement::Kind::cyclic,
                                         Placement::Kind::random};
    placement.kind = kinds[fields.choice("placement", {"block", "cyclic", "random"})];
  }
  return placement;
}

/// What a shape's name says of it.
std::string describe(const Placement& placement) {
  switch (placement.kind) {
    case Placement::Kind::block:
      break;
    case Placement::Kind::cyclic:
      return ", ranks placed cyclically";
    case Placement::Kind::list:
      return ", ranks placed by a list";
    case Placement::Kind::random:
      return fmt::format(", ranks placed at random, seed {}", placement.seed);
  }
  return "";
}

/// The nodes that match the names, in the order of the names.
std::vector<int> read_gateways(const Fields& fields, const Fabric& fabric) {
  std::vector<int> gateways;
  for (std::size_t index = 0; index < fields.list("gateways").size(); ++index) {
    const std::string& name = fields.element_word("gateways", index);
    const std::size_t before = gateways.size();
    for (std::size_t node = 0; node < fabric.nodes.size(); ++node) {
      if (!matches_pattern(fabric.nodes[node].name, name)) continue;
      gateways.push_back(static_cast<int>(node));
    }
    if (gateways.size() > before) continue;
    std::vector<std::string_view> names;
    for (const Node& node : fabric.nodes) names.push_back(node.name);
    fields.fail_at(fields.list("gateways")[index], "gateways",
                   fmt::format("no node {}, {}", quote(name), hint_for(name, names)));
  }
  return gateways;
}

Fabric read_network(const Fields& fields, const ShapeKind& kind) {
  Fabric fabric = kind.read(fields);
  if (fields.has("gateways")) fabric.gateways = read_gateways(fields, fabric);
  return fabric;
}

struct Cluster {
  Fabric fabric;
  HostSpec host;
};

void check_keys_beside_host(const Fields& fields, const Fields& host) {
  if (fields.has("reduction")) {
    fields.fail("reduction", "given beside 'host', expected as one of its keys");
  }
  if (host.has("placement")) host.fail("placement", "expected in the outermost shape only");
}

/// The network that the map describes, with the machines inside its hosts if they are shapes. From
/// the inside to the outside, so that what is too large in total is refused as early as it can be.
Cluster read_cluster(const Fields& fields, int depth) {
  if (depth > maximum_shapes_in_each_other) {
    fields.fail_at(fields.map(), "",
                   fmt::format("more than {} shapes in each other", maximum_shapes_in_each_other));
  }
  const ShapeKind& kind = kind_of(fields);
  Cluster cluster;
  if (fields.has("host")) {
    const Fields host = fields.fields("host");
    check_keys_beside_host(fields, host);
    if (host.has("shape")) {
      const Cluster inner = read_cluster(host, depth + 1);
      const Fabric outer = read_network(fields, kind);
      cluster.fabric = host.built([&] { return compose(outer, inner.fabric); });
      cluster.host = inner.host;
      return cluster;
    }
    cluster.host = read_host(host);
  } else if (fields.has("reduction")) {
    cluster.host.reduction_bytes_per_second = fields.parsed("reduction", parse_reduction);
  }
  cluster.fabric = read_network(fields, kind);
  return cluster;
}

Shape read_shape(const Fields& fields) {
  Cluster cluster = read_cluster(fields, 1);
  const Placement placement = read_placement(fields);
  Shape shape =
      fields.built([&] { return build_shape(std::move(cluster.fabric), cluster.host, placement); });
  if (fields.has("source")) fields.word("source");
  if (fields.has("name")) shape.name = read_label(fields, fields.value("name"));
  shape.name += describe(placement);
  return shape;
}

/// A number with a unit replaces the file's own key, if it has one; "50%" needs what was built.
bool changes_what_was_built(DocumentNode& root, const std::string& setting) {
  return is_edit(setting) && (is_factor(setting) || !has_key_of(root, setting));
}

}  // namespace

Shape load_shape(const std::string& file, const std::vector<std::string>& settings,
                 const std::vector<std::string>& failures) {
  Shape shape = parse_shape(read_source(file), file, settings, failures);
  shape.file = file;
  return shape;
}

Shape parse_shape(std::string_view text, const std::string& origin,
                  const std::vector<std::string>& settings,
                  const std::vector<std::string>& failures) {
  Sources sources;
  DocumentNode root = parse_document(text, sources, sources.add(origin));
  const Fields fields(sources, root, "");
  include_files(root, sources);
  std::vector<std::string> edits;
  for (const std::string& setting : settings) {
    if (changes_what_was_built(root, setting)) {
      edits.push_back(setting);
    } else {
      apply_setting(root, sources, setting);
      include_files(root, sources);
    }
  }
  Shape shape = read_shape(fields);
  // The name says how the shape differs from its file, but for keys that it shows anyway.
  for (const std::string& edit : edits) {
    apply_edit(shape, edit);
    shape.name += ", " + edit;
  }
  if (!failures.empty()) apply_failures(shape, failures);
  for (const std::string& failure : failures) shape.name += ", without " + failure;
  return shape;
}

}  // namespace tutti
