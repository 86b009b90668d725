// hwloc's XML: its matrices of bandwidths or latencies between objects.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "topologies/import_xml.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_objects = 512;
constexpr double megabyte = 1e6;
constexpr double device_latency_seconds = 0.6e-6;
constexpr double memory_bandwidth = 20e9;
constexpr double seconds_per_unit =
    10e-9;  // Latencies of NUMA nodes are relative, 10 the local one.

bool recognises(std::string_view text) {
  return xml_begins_with(text, "topology");
}

/// What a matrix is about.
struct Object {
  std::string name;
  bool is_host = true;
};

struct Matrix {
  std::string name;
  bool is_bandwidth = false;
  int line = 0;
  std::vector<Object> objects;
  std::vector<double> values;  ///< By row.

  double at(std::size_t from, std::size_t to) const { return values[from * objects.size() + to]; }
};

/// All objects by "TYPE:gp:NUMBER" and "TYPE:os:NUMBER".
class Objects {
 public:
  explicit Objects(pugi::xml_node root) {
    // Without recursion, though the text's depth is limited.
    for (pugi::xml_node node = root.first_child(); node;) {
      if (std::string_view(node.name()) == "object") add(node);
      pugi::xml_node next = node.first_child();
      while (!next && node && node != root) {
        next = node.next_sibling();
        if (!next) node = node.parent();
      }
      node = next;
    }
  }

  Object find(const std::string& type, std::string_view indexing, std::string_view number) const {
    const auto found = objects_.find(fmt::format("{}:{}:{}", type, indexing, number));
    const pugi::xml_node element = found == objects_.end() ? pugi::xml_node() : found->second;
    const std::string name = element.attribute("name").value();
    const std::string subtype = element.attribute("subtype").value();
    const std::string_view pci_class = element.attribute("pci_type").value();
    const bool is_pci = type == "PCIDev" || type == "Bridge";
    Object object;
    object.is_host = !is_pci || pci_class.starts_with("03") || pci_class.starts_with("12");
    if (subtype == "NVSwitch") object.is_host = false;
    object.name =
        !name.empty() ? name : fmt::format("{}-{}", subtype.empty() ? type : subtype, number);
    return object;
  }

 private:
  void add(pugi::xml_node element) {
    const std::string_view type = element.attribute("type").value();
    const std::pair<const char*, const char*> indexes[] = {{"gp", "gp_index"}, {"os", "os_index"}};
    for (const auto& [indexing, attribute] : indexes) {
      const pugi::xml_attribute index = element.attribute(attribute);
      if (index) objects_.emplace(fmt::format("{}:{}:{}", type, indexing, index.value()), element);
    }
  }

  std::unordered_map<std::string, pugi::xml_node> objects_;
};

/// The words of all children of that name.
std::vector<std::string_view> words_of(pugi::xml_node matrix, const char* child_name) {
  std::vector<std::string_view> words;
  for (const pugi::xml_node child : matrix.children(child_name)) {
    const std::string_view text = child.child_value();
    for (std::size_t begin = 0; begin < text.size();) {
      begin = std::min(text.find_first_not_of(" \t\r\n", begin), text.size());
      const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
      if (end > begin) words.push_back(text.substr(begin, end - begin));
      begin = end;
    }
  }
  return words;
}

std::vector<Object> read_objects(const XmlText& text, pugi::xml_node element,
                                 const Objects& known) {
  const bool is_mixed = std::string_view(element.name()) == "distances2hetero";
  const std::string type = is_mixed ? std::string() : text.required(element, "type");
  const std::string indexing = text.optional(element, "indexing", "gp");
  std::vector<Object> objects;
  std::unordered_set<std::string> names;
  for (const std::string_view word : words_of(element, "indexes")) {
    const std::size_t colon = word.find(':');
    if (is_mixed && colon == std::string_view::npos) {
      text.refuse(element, fmt::format("the index {} is not of the form OSDev:802", quote(word)));
    }
    Object object =
        is_mixed ? known.find(std::string(word.substr(0, colon)), "gp", word.substr(colon + 1))
                 : known.find(type, indexing, word);
    text.check_name(element, "indexes", object.name);
    if (!names.insert(object.name).second) {
      text.refuse(element, fmt::format("two objects are named {}", quote(object.name)));
    }
    objects.push_back(std::move(object));
    if (objects.size() > most_objects) {
      text.refuse(element, fmt::format("more than {} objects", most_objects));
    }
  }
  return objects;
}

Matrix read_matrix(const XmlText& text, pugi::xml_node element, const Objects& known) {
  constexpr int means_bandwidth = 8;
  Matrix matrix;
  matrix.line = text.line_of(element);
  matrix.name = text.optional(element, "name", "a matrix without name");
  matrix.is_bandwidth = (element.attribute("kind").as_int() & means_bandwidth) != 0 ||
                        matrix.name.ends_with("Bandwidth");
  matrix.objects = read_objects(text, element, known);
  const std::size_t count = matrix.objects.size();
  if (element.attribute("nbobjs").as_ullong() != count) {
    text.refuse(
        element, "nbobjs",
        fmt::format("{} but there are {} indexes", shown_attribute(element, "nbobjs"), count));
  }
  for (const std::string_view word : words_of(element, "u64values")) {
    double value = 0.0;
    const auto [rest, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status != std::errc{} || rest != word.data() + word.size() || !std::isfinite(value) ||
        value < 0.0) {
      text.refuse(element,
                  fmt::format("the value {} is not a number of zero or more", quote(word)));
    }
    matrix.values.push_back(value);
  }
  if (matrix.values.size() != count * count) {
    text.refuse(element, fmt::format("{} values for {} objects, expected {}", matrix.values.size(),
                                     count, count * count));
  }
  return matrix;
}

/// A matrix of bandwidths if there is one, else one of latencies.
Matrix choose_matrix(const XmlText& text, ImportNotes& notes) {
  const Objects known(text.root());
  std::optional<Matrix> chosen;
  for (const pugi::xml_node element : text.root().children()) {
    const std::string_view name = element.name();
    if (name != "distances2" && name != "distances2hetero") continue;
    Matrix matrix = read_matrix(text, element, known);
    const bool is_better = !chosen || (matrix.is_bandwidth && !chosen->is_bandwidth);
    if (is_better) std::swap(matrix, chosen ? *chosen : chosen.emplace());
    if (!matrix.objects.empty()) {
      notes.ignored(matrix.line, fmt::format("the matrix {}", quote(matrix.name)));
    }
  }
  if (!chosen || chosen->objects.empty()) {
    text.refuse(text.root(),
                "has no <distances2>, expected hwloc's matrix of bandwidths or "
                "latencies, as versions from 2.0 write it");
  }
  return *chosen;
}

/// Builds the graph of a matrix of bandwidths. Switches that have the same hosts are one: messages
/// are spread over them.
class BandwidthGraph {
 public:
  BandwidthGraph(const Matrix& matrix, ImportNotes& notes) : matrix_(matrix), notes_(notes) {}

  GraphSpec build() {
    merge_switches();
    for (std::size_t from = 0; from < count(); ++from) {
      if (matrix_.at(from, from) > 0.0) {
        notes_.suspicious(matrix_.line, fmt::format("{} has a link to itself, it is left out",
                                                    quote(matrix_.objects[from].name)));
      }
      for (std::size_t to = 0; to < count(); ++to) {
        if (merged_[from] == merged_[to] || matrix_.at(from, to) == 0.0) continue;
        sums_[{merged_[from], merged_[to]}] += matrix_.at(from, to);
      }
    }
    for (const auto& [pair, sum] : sums_) add(pair.first, pair.second, sum);
    connect_parts();
    return std::move(graph_);
  }

 private:
  std::size_t count() const { return matrix_.objects.size(); }

  void merge_switches() {
    std::map<std::vector<bool>, std::size_t> alike;
    std::size_t switches = 0;
    for (std::size_t object = 0; object < count(); ++object) {
      std::size_t node = graph_.nodes.size();
      if (!matrix_.objects[object].is_host) {
        ++switches;
        std::vector<bool> hosts;
        for (std::size_t other = 0; other < count(); ++other) {
          if (matrix_.objects[other].is_host) hosts.push_back(matrix_.at(object, other) > 0.0);
        }
        node = alike.try_emplace(std::move(hosts), node).first->second;
      }
      if (node == graph_.nodes.size()) {
        graph_.nodes.push_back({matrix_.objects[object].name, matrix_.objects[object].is_host});
      }
      merged_.push_back(node);
    }
    if (switches > alike.size()) {
      notes_.assumed(matrix_.line, fmt::format("{} switches are {} here: those with the same "
                                               "devices share their messages",
                                               switches, alike.size()));
    }
  }

  void add(std::size_t from, std::size_t to, double sum) {
    const auto back = sums_.find({to, from});
    const bool is_even = back != sums_.end() && back->second == sum;
    if (is_even && from > to) return;
    const GraphSpec::GraphNode& source = graph_.nodes[from];
    const GraphSpec::GraphNode& target = graph_.nodes[to];
    if (!is_even) {
      notes_.suspicious(matrix_.line, fmt::format("from {} to {} is not as fast as back",
                                                  quote(source.name), quote(target.name)));
    }
    const double share = source.is_host && target.is_host ? 1.0 : 0.5;
    graph_.cables.push_back({source.name,
                             target.name,
                             {sum * megabyte, share * device_latency_seconds},
                             "device",
                             !is_even});
  }

  /// Nodes that reach each other, with a switch among them.
  struct Part {
    std::size_t first = 0;
    std::optional<std::size_t> gateway = {};
    double hosts_sum = 0.0;  ///< Bandwidth of all its hosts.
  };

  std::vector<Part> find_parts() const {
    std::vector<std::vector<std::size_t>> neighbours(graph_.nodes.size());
    std::vector<double> outgoing(graph_.nodes.size(), 0.0);
    for (const auto& [pair, sum] : sums_) {
      neighbours[pair.first].push_back(pair.second);
      neighbours[pair.second].push_back(pair.first);
      outgoing[pair.first] += sum;
    }
    std::vector<Part> parts;
    std::vector<bool> seen(graph_.nodes.size(), false);
    for (std::size_t node = 0; node < graph_.nodes.size(); ++node) {
      if (seen[node]) continue;
      seen[node] = true;
      Part part{node};
      std::vector<std::size_t> open = {node};
      while (!open.empty()) {
        const std::size_t at = open.back();
        open.pop_back();
        if (!graph_.nodes[at].is_host && !part.gateway) part.gateway = at;
        if (graph_.nodes[at].is_host) part.hosts_sum += outgoing[at];
        for (const std::size_t next : neighbours[at]) {
          if (!seen[next]) open.push_back(next);
          seen[next] = true;
        }
      }
      parts.push_back(part);
    }
    return parts;
  }

  /// NVML does not tell how NVSwitches are connected to each other: there they seem apart.
  void connect_parts() {
    const std::vector<Part> parts = find_parts();
    for (std::size_t index = 1; index < parts.size(); ++index) {
      const Part& first = parts[0];
      const Part& other = parts[index];
      const std::string names = fmt::format("{} and {}", quote(graph_.nodes[first.first].name),
                                            quote(graph_.nodes[other.first].name));
      const double sum = std::min(first.hosts_sum, other.hosts_sum);
      if (!first.gateway || !other.gateway || sum == 0.0) continue;
      notes_.suspicious(matrix_.line,
                        fmt::format("there is no way between {}: their switches are connected here "
                                    "with all the bandwidth that the devices have, {} GB/s",
                                    names, sum / 1000.0));
      graph_.cables.push_back({graph_.nodes[*first.gateway].name,
                               graph_.nodes[*other.gateway].name,
                               {sum * megabyte, 0.0},
                               "switch"});
    }
  }

  const Matrix& matrix_;
  ImportNotes& notes_;
  GraphSpec graph_;
  std::vector<std::size_t> merged_;  ///< By object, its node.
  std::map<std::pair<std::size_t, std::size_t>, double> sums_;
};

GraphSpec latency_graph(const Matrix& matrix) {
  GraphSpec graph;
  for (const Object& object : matrix.objects) graph.nodes.push_back({object.name, true});
  for (std::size_t from = 0; from < matrix.objects.size(); ++from) {
    for (std::size_t to = from + 1; to < matrix.objects.size(); ++to) {
      const double units = std::max(matrix.at(from, to), matrix.at(to, from));
      graph.cables.push_back({graph.nodes[from].name,
                              graph.nodes[to].name,
                              {memory_bandwidth, units * seconds_per_unit},
                              "numa"});
    }
  }
  return graph;
}

Import import(std::string_view text, const std::string& origin) {
  const XmlText xml(text, origin);
  ImportNotes notes;
  const Matrix matrix = choose_matrix(xml, notes);
  GraphSpec graph;
  if (matrix.is_bandwidth) {
    graph = BandwidthGraph(matrix, notes).build();
    notes.assumed(matrix.line, "a latency of 0.6 us between devices, which the file does not have");
    notes.assumed(matrix.line, fmt::format("the bandwidths of {} are in MB/s", quote(matrix.name)));
  } else {
    graph = latency_graph(matrix);
    notes.suspicious(matrix.line,
                     fmt::format("the file has latencies only ({}): a bandwidth of 20 GB/s is "
                                 "assumed, and 10 ns for each unit of latency",
                                 quote(matrix.name)));
  }
  notes.ignored(0, "all other objects: caches, cores, the PCI tree");
  const bool has_host = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                    [](const GraphSpec::GraphNode& node) { return node.is_host; });
  if (!has_host) refuse_import(origin, {matrix.line}, "the matrix has no device but switches");
  check_import_size(origin, graph);
  check_import_ways(origin, graph);
  return make_import("hwloc XML", origin, notes, yaml_graph(graph));
}

}  // namespace

Importer hwloc_importer() {
  return {"hwloc", "hwloc XML with a matrix of bandwidths or latencies (lstopo --of xml)",
          recognises, import};
}

}  // namespace tutti
