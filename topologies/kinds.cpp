#include "topologies/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

using Keys = std::vector<std::string_view>;

const Keys link_keys = {"bandwidth", "latency", "overhead", "duplex"};

/// The keys, and those of a link, which may stand at the top level.
Keys with_link(Keys keys) {
  keys.push_back("link");
  keys.insert(keys.end(), link_keys.begin(), link_keys.end());
  return keys;
}

LinkSpec checked_link(const Fields& fields) {
  fields.check_keys(link_keys);
  return read_link(fields);
}

/// Of kinds with one class of links: that of `link`, or the top level's own.
LinkSpec one_link(const Fields& fields) {
  if (!fields.has("link")) return read_link(fields);
  for (const std::string_view key : link_keys) {
    if (fields.has(key)) fields.fail(key, "given here and in 'link', expected in one of them");
  }
  return checked_link(fields.fields("link"));
}

/// One for each dimension or level, or one for all.
std::vector<LinkSpec> links_of_levels(const Fields& fields) {
  if (!fields.has("links")) return {one_link(fields)};
  for (const std::string_view key : link_keys) {
    if (fields.has(key)) fields.fail(key, "given here and in 'links', expected in one of them");
  }
  if (fields.has("link")) fields.fail("link", "given beside 'links', expected one of them");
  std::vector<LinkSpec> links;
  for (std::size_t index = 0; index < fields.list("links").size(); ++index) {
    links.push_back(checked_link(fields.element_fields("links", index)));
  }
  return links;
}

Fabric read_star(const Fields& fields) {
  const StarSpec spec{fields.count("hosts"), one_link(fields)};
  return fields.built([&] { return star(spec); });
}

Fabric read_fully_connected(const Fields& fields) {
  const FullyConnectedSpec spec{fields.count("hosts"), one_link(fields)};
  return fields.built([&] { return fully_connected(spec); });
}

Fabric read_ring(const Fields& fields) {
  GridSpec spec;
  spec.kind = "ring";
  spec.dimensions = {fields.count("hosts")};
  spec.links = {one_link(fields)};
  return fields.built([&] { return grid(spec); });
}

Fabric read_grid(const Fields& fields) {
  GridSpec spec;
  spec.kind = fields.word("shape");
  spec.wraps = spec.kind == "torus";
  spec.dimensions = fields.counts("dimensions");
  spec.links = links_of_levels(fields);
  return fields.built([&] { return grid(spec); });
}

Fabric read_hypercube(const Fields& fields) {
  constexpr std::int64_t most_dimensions = 20;
  GridSpec spec;
  spec.kind = "hypercube";
  spec.dimensions.assign(static_cast<std::size_t>(fields.whole("dimensions", 1, most_dimensions)),
                         2);
  spec.links = {one_link(fields)};
  return fields.built([&] { return grid(spec); });
}

Fabric read_fat_tree(const Fields& fields) {
  const std::vector<LinkSpec> links = links_of_levels(fields);
  if (fields.has("radix")) {
    for (const std::string_view key : {"down", "up", "cables"}) {
      if (fields.has(key)) fields.fail(key, "given beside 'radix', expected one of them");
    }
    const int radix = fields.count("radix");
    const int oversubscription =
        fields.has("oversubscription") ? fields.count("oversubscription") : 1;
    return fields.built([&] { return fat_tree(k_ary_fat_tree(radix, oversubscription, links)); });
  }
  if (fields.has("oversubscription")) {
    fields.fail("oversubscription", "needs 'radix'; with 'down' and 'up' it follows from these");
  }
  if (!fields.has("down")) fields.fail_at(fields.map(), "", "the key 'radix' or 'down' is missing");
  FatTreeSpec spec;
  spec.down = fields.counts("down");
  spec.up = fields.counts("up");
  if (fields.has("cables")) spec.cables = fields.counts("cables");
  spec.links = links;
  return fields.built([&] { return fat_tree(spec); });
}

/// The spines' links, as fast as the oversubscription wants if they have no bandwidth of their own.
LinkSpec spine_link(const Fields& fields, const Fields& links, const LeafSpineSpec& spec) {
  if (!fields.has("oversubscription")) return checked_link(links.fields("spine"));
  const double oversubscription = fields.number("oversubscription");
  LinkSpec spine = spec.host;
  if (links.has("spine")) {
    const Fields given = links.fields("spine");
    given.check_keys(link_keys);
    if (given.has("bandwidth")) {
      fields.fail("oversubscription",
                  "given beside links.spine.bandwidth, expected one of them, as the other follows");
    }
    spine = read_link(given, spec.host.bandwidth_bytes_per_second);
  }
  spine.bandwidth_bytes_per_second = spec.hosts_per_leaf * spec.host.bandwidth_bytes_per_second /
                                     (static_cast<double>(spec.spines) * spec.uplinks) /
                                     oversubscription;
  return spine;
}

Fabric read_leaf_spine(const Fields& fields) {
  const Fields links = fields.fields("links");
  links.check_keys({"host", "spine"});
  LeafSpineSpec spec;
  spec.leaves = fields.count("leaves");
  spec.spines = fields.count("spines", 0);
  spec.hosts_per_leaf = fields.count("hosts_per_leaf");
  if (fields.has("uplinks")) spec.uplinks = fields.count("uplinks");
  if (fields.has("rails")) spec.rails = fields.count("rails");
  spec.host = checked_link(links.fields("host"));
  if (spec.spines > 0) {
    spec.spine = spine_link(fields, links, spec);
  } else if (links.has("spine")) {
    links.fail("spine", "given without spines, expected 'spines' greater than 0 or no such links");
  } else if (fields.has("oversubscription")) {
    fields.fail("oversubscription", "given without spines, expected 'spines' greater than 0");
  }
  return fields.built([&] { return leaf_spine(spec); });
}

Fabric read_dragonfly(const Fields& fields) {
  const Fields links = fields.fields("links");
  links.check_keys({"host", "local", "global"});
  DragonflySpec spec;
  spec.groups = fields.count("groups");
  spec.routers = fields.count("routers");
  spec.hosts = fields.count("hosts_per_router");
  spec.global_links = fields.count("global_links", 0);
  spec.host = checked_link(links.fields("host"));
  spec.local = checked_link(links.fields("local"));
  spec.global = checked_link(links.fields("global"));
  return fields.built([&] { return dragonfly(spec); });
}

/// Adds "  term: text" in lines of at most 100 columns.
void add_wrapped(std::string& all, std::string_view term, std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string line = fmt::format("  {}:", term);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (line.size() + 1 + word.size() > longest) {
      all += line + "\n";
      line = "     ";
    }
    line.append(" ").append(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  all += line + "\n";
}

std::vector<ShapeKind> make_kinds() {
  const Keys levels = with_link({"dimensions", "links"});
  return {
      {"star", "hosts, link: hosts around one switch; the link is from host to host",
       with_link({"hosts"}), read_star},
      {"fully_connected", "hosts, link: a cable between any two hosts", with_link({"hosts"}),
       read_fully_connected},
      {"ring", "hosts, link: a cable to each of two neighbours", with_link({"hosts"}), read_ring},
      {"torus", "dimensions (4x4x4 or [4, 4, 4]), link or links (one for each dimension)", levels,
       read_grid},
      {"mesh", "the same without the cables from the last to the first", levels, read_grid},
      {"hypercube", "dimensions (their number), link", with_link({"dimensions"}), read_hypercube},
      {"fat_tree",
       "radix [, oversubscription], or down, up [, cables] (one number for each level); link or "
       "links (one for each level)",
       with_link({"radix", "oversubscription", "down", "up", "cables", "links"}), read_fat_tree},
      {"leaf_spine",
       "leaves, spines, hosts_per_leaf [, uplinks] [, rails], links: {host, spine} [, "
       "oversubscription in place of links.spine.bandwidth]",
       {"leaves", "spines", "hosts_per_leaf", "uplinks", "rails", "links", "oversubscription"},
       read_leaf_spine},
      {"dragonfly",
       "groups, routers (in each), hosts_per_router, global_links (of a router), links: {host, "
       "local, global}",
       {"groups", "routers", "hosts_per_router", "global_links", "links"},
       read_dragonfly},
      {"product",
       "dimensions: a list of {kind: ring, line, fully_connected or switch, size, and a link's "
       "keys}",
       {"dimensions"},
       read_product},
      {"machine",
       "devices [, nics] [, pcie_switches], interconnect: switch, mesh, ring or pcie, links: "
       "{device, pcie} [, leaves_by: sender or destination]: the inside of a machine",
       {"devices", "nics", "pcie_switches", "interconnect", "links", "leaves_by"},
       read_machine},
      {"graph",
       "nodes: a list of names or {name, kind: host or switch}, links: a list of {between: [a, b], "
       "a link's keys [, class]} with duplex: full, shared or one_way [, routes: a list of "
       "[a, s, b] or {nodes: [a, s, b], both_ways: false}] [, metric: hops or latency]",
       {"nodes", "links", "routes", "metric"},
       read_graph},
  };
}

}  // namespace

const std::vector<ShapeKind>& shape_kinds() {
  static const std::vector<ShapeKind> kinds = make_kinds();
  return kinds;
}

const std::vector<std::string_view>& common_shape_keys() {
  static const Keys keys = {"host", "reduction", "placement", "gateways", "name", "source"};
  return keys;
}

std::string describe_shape_keys() {
  std::string text;
  for (const ShapeKind& kind : shape_kinds()) add_wrapped(text, kind.name, kind.description);
  add_wrapped(
      text, "a link",
      "{bandwidth: 50GBps or 400Gbps, latency: 1us [, overhead: 0.2us] [, duplex: full or "
      "shared]}; the keys of `link` may stand without it. Each message occupies a link for its "
      "overhead too, as if it were longer; of the links on a route the largest counts, once");
  add_wrapped(
      text, "host",
      "{cores, reduction: free or 10GBps, send_overhead, receive_overhead, loopback: a link "
      "between the ranks of a host}, or another shape, or {file: machine.yaml}, which has as "
      "many of the outer shape's hosts (ports) as it has NICs or gateways; a host's "
      "`reduction` may stand without it");
  add_wrapped(text, "placement",
              "block (the default), cyclic (round the machines), random, {random: SEED}, or a list "
              "of host numbers, one for each rank; a host has as many ranks as cores");
  add_wrapped(text, "gateways",
              "of a shape that is another's host: names or patterns of the nodes where that one's "
              "links are plugged in");
  add_wrapped(text, "name, source", "texts for people");
  return text;
}

const ShapeKind& kind_of(const Fields& fields) {
  Keys valid = {"shape"};
  const auto add = [&valid](const Keys& keys) {
    for (const std::string_view key : keys) {
      if (std::find(valid.begin(), valid.end(), key) == valid.end()) valid.push_back(key);
    }
  };
  if (!fields.has("shape")) {
    for (const ShapeKind& kind : shape_kinds()) add(kind.keys);
    add(common_shape_keys());
    fields.check_keys(valid);
  }
  Keys names;
  for (const ShapeKind& kind : shape_kinds()) names.push_back(kind.name);
  const ShapeKind& kind = shape_kinds()[fields.choice("shape", names)];
  add(kind.keys);
  add(common_shape_keys());
  fields.check_keys(valid);
  return kind;
}

const std::string& read_label(const Fields& fields, const DocumentNode& node) {
  constexpr std::size_t longest = 200;
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  const bool is_word = node.kind == DocumentNode::Kind::word;
  if (!is_word || node.text.empty() || node.text.size() > longest ||
      std::any_of(node.text.begin(), node.text.end(), is_control)) {
    fields.fail_at(node, node.key,
                   fmt::format("{} is no name, expected 1 to {} bytes without control characters",
                               quote(node.text), longest));
  }
  return node.text;
}

LinkSpec read_link(const Fields& fields, std::optional<double> bandwidth_bytes_per_second) {
  LinkSpec link;
  link.bandwidth_bytes_per_second =
      bandwidth_bytes_per_second ? *bandwidth_bytes_per_second : fields.bandwidth("bandwidth");
  link.latency_seconds = fields.duration("latency");
  if (fields.has("overhead")) link.overhead_seconds = fields.duration("overhead");
  link.shared = fields.has("duplex") && fields.choice("duplex", {"full", "shared"}) == 1;
  return link;
}

}  // namespace tutti
