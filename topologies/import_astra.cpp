// ASTRA-sim: the YAML that describes the network to its analytical backends, one entry of each list
// for each dimension.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "topologies/document.hpp"
#include "topologies/import_text.hpp"
#include "topologies/import_yaml.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = ProductDimension::Kind;

constexpr std::array<std::string_view, 4> known_keys = {"topology", "npus_count", "bandwidth",
                                                        "latency"};

constexpr std::size_t maximum_dimensions = 32;

/// What our format calls each.
struct Block {
  std::string_view theirs;
  std::string_view ours;
  std::string_view alone;  ///< As the only dimension.
  Kind kind;
};

constexpr std::array<Block, 3> blocks = {
    {{"Ring", "ring", "ring", Kind::ring},
     {"FullyConnected", "fully_connected", "fully_connected", Kind::fully_connected},
     {"Switch", "switch", "star", Kind::switched}}};

const Block& block_of(Kind kind) {
  return *std::find_if(blocks.begin(), blocks.end(),
                       [kind](const Block& block) { return block.kind == kind; });
}

/// The four lists, read from the document.
class AstraFile {
 public:
  AstraFile(std::string_view text, const std::string& origin) : origin_(origin) {
    Sources sources;
    root_ = parse_document(text, sources, sources.add(origin));
    if (root_.kind != DocumentNode::Kind::map) {
      refuse_import(origin_, place_of(root_), expected_keys());
    }
    check_keys();
  }

  std::vector<ProductDimension> dimensions() {
    const std::vector<const DocumentNode*> topology = values("topology");
    if (topology.size() > maximum_dimensions) {
      refuse_import(
          origin_, place_of(*root_.find("topology")),
          fmt::format("{} dimensions, expected at most {}", topology.size(), maximum_dimensions));
    }
    std::vector<ProductDimension> result;
    for (const std::string_view key : known_keys) {
      if (values(key).size() == topology.size()) continue;
      refuse_import(origin_, place_of(*root_.find(key)),
                    fmt::format("{} has {} entries, expected {} as topology has", key,
                                values(key).size(), topology.size()));
    }
    for (std::size_t index = 0; index < topology.size(); ++index) {
      result.push_back(dimension(index, *topology[index]));
    }
    return result;
  }

  ImportNotes& notes() { return notes_; }

 private:
  /// A key without a value ends where the next key begins.
  static Place place_of(const DocumentNode& value) {
    const bool is_empty = value.kind == DocumentNode::Kind::empty;
    const Mark& mark = is_empty ? value.key_mark : value.mark;
    return {mark.line, mark.column};
  }

  static std::string expected_keys() {
    return fmt::format("expected the keys {}", fmt::join(known_keys, ", "));
  }

  void check_keys() {
    for (const std::string_view key : known_keys) {
      if (root_.find(key) != nullptr) continue;
      std::vector<std::string_view> given;
      for (const DocumentNode& entry : root_.children) given.push_back(entry.key);
      const std::string_view nearest = nearest_word(key, given);
      const DocumentNode* const similar = nearest.empty() ? nullptr : root_.find(nearest);
      refuse_import(
          origin_,
          similar == nullptr ? Place{} : Place{similar->key_mark.line, similar->key_mark.column},
          fmt::format("no key {}{}, {}", key,
                      nearest.empty() ? "" : fmt::format(" but {}", quote(nearest)),
                      expected_keys()));
    }
    std::vector<std::string_view> seen;
    for (const DocumentNode& entry : root_.children) {
      const auto known = std::find(known_keys.begin(), known_keys.end(), entry.key);
      if (known == known_keys.end()) {
        notes_.ignored(entry.key_mark.line, fmt::format("the key {}", quote(entry.key)));
        continue;
      }
      if (std::find(seen.begin(), seen.end(), *known) != seen.end()) {
        refuse_import(origin_, {entry.key_mark.line, entry.key_mark.column},
                      fmt::format("{} is given twice", *known));
      }
      seen.push_back(*known);
    }
  }

  /// Those of a list, or the value alone.
  std::vector<const DocumentNode*> values(std::string_view key) const {
    const DocumentNode& value = *root_.find(key);
    std::vector<const DocumentNode*> result;
    if (value.kind == DocumentNode::Kind::word) result.push_back(&value);
    for (const DocumentNode& each : value.children) result.push_back(&each);
    if (result.empty() || value.kind == DocumentNode::Kind::map) {
      refuse_import(origin_, place_of(value), fmt::format("{} is no list", key));
    }
    return result;
  }

  [[noreturn]] void refuse(const DocumentNode& value, std::string_view key,
                           std::string_view expected) const {
    refuse_import(origin_, place_of(value),
                  fmt::format("{}: found {}, expected {}", key, quote(value.text), expected));
  }

  double number(std::size_t index, std::string_view key, std::string_view expected,
                bool may_be_zero) const {
    const DocumentNode& value = *values(key)[index];
    const std::optional<double> found = decimal_number(value.text);
    if (!found || *found < 0.0 || (*found == 0.0 && !may_be_zero)) refuse(value, key, expected);
    return *found;
  }

  ProductDimension dimension(std::size_t index, const DocumentNode& topology) {
    const auto block = std::find_if(blocks.begin(), blocks.end(), [&](const Block& each) {
      return each.theirs == topology.text;
    });
    if (block == blocks.end()) {
      const std::string_view nearest =
          nearest_word(topology.text, {"Ring", "FullyConnected", "Switch"});
      refuse(topology, "topology",
             fmt::format("Ring, FullyConnected or Switch{}",
                         nearest.empty() ? "" : fmt::format("; {} is nearest", quote(nearest))));
    }
    const DocumentNode& count = *values("npus_count")[index];
    const std::optional<std::int64_t> size = whole_number(count.text);
    if (!size || *size < 1 || *size > maximum_hosts) {
      refuse(count, "npus_count", fmt::format("a whole number from 1 to {}", maximum_hosts));
    }
    ProductDimension result;
    result.kind = block->kind;
    result.size = static_cast<int>(*size);
    result.link.bandwidth_bytes_per_second =
        1e9 * number(index, "bandwidth", "a number of GB/s greater than 0", false);
    result.link.latency_seconds = number(index, "latency", "a number of ns from 0", true) / 1e9;
    check_link(index, result);
    return result;
  }

  void check_link(std::size_t index, ProductDimension& dimension) {
    const int line = values("bandwidth")[index]->mark.line;
    if (!std::isfinite(dimension.link.bandwidth_bytes_per_second)) {
      refuse_import(origin_, place_of(*values("bandwidth")[index]), "bandwidth: out of range");
    }
    note_odd_link(line, dimension.link, notes_);
    if (dimension.kind != Kind::switched) return;
    dimension.link.latency_seconds *= 2;
    notes_.assumed(values("latency")[index]->mark.line,
                   "the latency of a Switch is that of each of its two links, as in ASTRA-sim: "
                   "from host to host it is twice as long");
  }

  std::string origin_;
  DocumentNode root_;
  ImportNotes notes_;
};

/// Cables of all hosts together.
double cables_of(const std::vector<ProductDimension>& dimensions, double hosts) {
  return std::accumulate(dimensions.begin(), dimensions.end(), 0.0,
                         [hosts](double sum, const ProductDimension& dimension) {
                           return sum + hosts * (dimension.kind == Kind::fully_connected
                                                     ? 0.5 * (dimension.size - 1)
                                                     : 1.0);
                         });
}

void check_size(const std::string& origin, const std::vector<ProductDimension>& dimensions) {
  double hosts = 1.0;
  for (const ProductDimension& dimension : dimensions) hosts *= dimension.size;
  const double cables = cables_of(dimensions, hosts);
  if (hosts <= static_cast<double>(maximum_import_nodes) &&
      cables <= static_cast<double>(maximum_import_cables)) {
    return;
  }
  refuse_import(origin, {},
                fmt::format("{:.6g} hosts with {:.6g} cables, expected at most {} and {}", hosts,
                            cables, maximum_import_nodes, maximum_import_cables));
}

std::string body_of(const std::vector<ProductDimension>& dimensions) {
  if (dimensions.size() == 1) {
    const ProductDimension& only = dimensions.front();
    return fmt::format("shape: {}\nhosts: {}\nlink: {}\n", block_of(only.kind).alone, only.size,
                       yaml_link(only.link));
  }
  std::string yaml = "shape: product\ndimensions:\n";
  for (const ProductDimension& dimension : dimensions) {
    yaml += fmt::format("  - {{kind: {}, size: {}, {}}}\n", block_of(dimension.kind).ours,
                        dimension.size, yaml_link_keys(dimension.link));
  }
  return yaml;
}

bool recognises_astra(std::string_view text) {
  const std::string_view head = text.substr(0, std::size_t{1} << 16);
  return head.find("npus_count") != std::string_view::npos;
}

Import import_astra(std::string_view text, const std::string& origin) {
  AstraFile file(text, origin);
  const std::vector<ProductDimension> dimensions = file.dimensions();
  check_size(origin, dimensions);
  file.notes().assumed(0,
                       "GB/s are 1e9 bytes/s; most releases of the analytical backends compute "
                       "with 2^30");
  std::vector<ProductDimension> wide;
  std::copy_if(dimensions.begin(), dimensions.end(), std::back_inserter(wide),
               [](const ProductDimension& dimension) { return dimension.size > 1; });
  if (wide.empty()) wide.push_back(dimensions.front());
  if (wide.size() < dimensions.size()) file.notes().ignored(0, "dimensions of 1 NPU");
  return make_import("ASTRA-sim network YAML", origin, file.notes(), body_of(wide));
}

}  // namespace

Importer astra_importer() {
  return {"astra-sim", "ASTRA-sim network YAML of the analytical backends", recognises_astra,
          import_astra};
}

}  // namespace tutti
