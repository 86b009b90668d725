// The physical topologies of ns-3: those of ASTRA-sim's ns-3 backend (and of HPCC, where they come
// from), and those of SimAI, whose header says more. A header of counts, the numbers of the
// switches, then one line for each link: two nodes, bandwidth, latency, error rate.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "topologies/import_text.hpp"
#include "topologies/import_yaml.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t words_of_ns3_header = 3;
constexpr std::size_t words_of_simai_header = 6;  ///< At least; newer generators add one.
constexpr std::size_t words_of_link = 5;

struct Header {
  std::int64_t nodes = 0;
  std::int64_t gpus_per_server = 0;
  std::int64_t nvswitches = 0;
  std::int64_t switches = 0;  ///< Without the NVSwitches.
  std::int64_t links = 0;
};

bool all_are_whole_numbers(const std::vector<std::string_view>& words) {
  return std::all_of(words.begin(), words.end(),
                     [](std::string_view word) { return whole_number(word).has_value(); });
}

bool is_ns3_header(const std::vector<std::string_view>& words) {
  return words.size() == words_of_ns3_header && all_are_whole_numbers(words);
}

bool is_simai_header(const std::vector<std::string_view>& words) {
  if (words.size() < words_of_simai_header || words.size() > words_of_simai_header + 1)
    return false;
  const auto counts = words.begin() + static_cast<std::ptrdiff_t>(words_of_simai_header) - 1;
  return all_are_whole_numbers({words.begin(), counts}) && !whole_number(*counts);
}

/// The words of the first line that has any.
std::vector<std::string_view> header_words(std::string_view text) {
  for (LineReader reader(text.substr(0, std::size_t{1} << 12)); reader.next();) {
    std::vector<std::string_view> words = words_of(reader.line());
    if (!words.empty()) return words;
  }
  return {};
}

class PhysicalFile {
 public:
  PhysicalFile(std::string_view text, const std::string& origin, bool of_simai)
      : origin_(origin), bytes_(text.size()), lines_(text), of_simai_(of_simai) {
    read_header();
    read_switches();
    read_links();
    check_connected();
  }

  ImportNotes& notes() { return notes_; }
  const GraphSpec& graph() const { return graph_; }

 private:
  enum class Part : char { host, nvswitch, switched };

  [[noreturn]] void refuse(std::string_view reason) const {
    refuse_import(origin_, line_place(), reason);
  }
  [[noreturn]] void refuse(std::string_view word, std::string_view reason) const {
    refuse_import(origin_, lines_.place_of(word), reason);
  }

  /// Of the first word of the line.
  Place line_place() const {
    const std::vector<std::string_view> words = words_of(lines_.line());
    return words.empty() ? Place{line()} : lines_.place_of(words[0]);
  }

  /// The words of the next line that has any; none at the end.
  std::vector<std::string_view> next_words() {
    while (lines_.next()) {
      std::vector<std::string_view> words = words_of(lines_.line());
      if (!words.empty()) return words;
    }
    return {};
  }

  int line() const { return lines_.number(); }

  void read_header() {
    const std::vector<std::string_view> words = next_words();
    if (of_simai_ ? !is_simai_header(words) : !is_ns3_header(words)) {
      refuse(fmt::format("expected the counts of {}",
                         of_simai_ ? "nodes, GPUs per server, NVSwitches, switches and links, then "
                                     "the name of the GPU"
                                   : "nodes, switches and links"));
    }
    const auto count = [&](std::size_t index) { return *whole_number(words[index]); };
    header_ = of_simai_ ? Header{count(0), count(1), count(2), count(3), count(4)}
                        : Header{count(0), 0, 0, count(1), count(2)};
    check_header();
    if (of_simai_) notes_.ignored(line(), fmt::format("the GPU {}", quote(words[5])));
    parts_.assign(static_cast<std::size_t>(header_.nodes), Part::host);
    roots_.resize(parts_.size());
    std::iota(roots_.begin(), roots_.end(), std::size_t{0});
  }

  void check_header() const {
    // Each node has a link, so that the text is longer than this.
    const auto most = static_cast<std::int64_t>(std::min(maximum_import_nodes, bytes_));
    if (header_.nodes < 1 || header_.nodes > most) {
      refuse(fmt::format("{} nodes, expected from 1 to {} in a file of this length", header_.nodes,
                         most));
    }
    const std::int64_t switches = header_.switches;
    if (switches >= header_.nodes || header_.nvswitches >= header_.nodes - switches) {
      refuse(fmt::format("{} switches and {} NVSwitches of {} nodes, expected at least one host",
                         switches, header_.nvswitches, header_.nodes));
    }
    if (header_.links > static_cast<std::int64_t>(maximum_import_cables)) {
      refuse(fmt::format("{} links, expected at most {}", header_.links, maximum_import_cables));
    }
  }

  /// Their numbers, which may go over several lines.
  void read_switches() {
    const auto nvswitches = static_cast<std::size_t>(header_.nvswitches);
    const std::size_t all = nvswitches + static_cast<std::size_t>(header_.switches);
    std::size_t read = 0;
    while (read < all) {
      const std::vector<std::string_view> words = next_words();
      if (words.empty()) refuse(fmt::format("the end, expected {} more switches", all - read));
      for (const std::string_view word : words) {
        if (read == all)
          refuse(word, fmt::format("found {}, expected {} switches", quote(word), all));
        Part& part = parts_[node(word, "the number of a switch")];
        if (part != Part::host) {
          notes_.suspicious(line(), fmt::format("the switch {} comes twice", quote(word)));
        }
        part = read < nvswitches ? Part::nvswitch : Part::switched;
        ++read;
      }
    }
    name_nodes();
  }

  void name_nodes() {
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      const std::string_view what = parts_[index] == Part::host       ? of_simai_ ? "gpu" : "host"
                                    : parts_[index] == Part::nvswitch ? "nvswitch"
                                                                      : "switch";
      graph_.nodes.push_back({fmt::format("{}-{}", what, index), parts_[index] == Part::host});
    }
  }

  std::size_t node(std::string_view word, std::string_view expected) const {
    const std::optional<std::int64_t> number = whole_number(word);
    if (number && *number < header_.nodes) return static_cast<std::size_t>(*number);
    refuse(word, fmt::format("found {}, expected {} from 0 to {}", quote(word), expected,
                             header_.nodes - 1));
  }

  void read_links() {
    std::int64_t read = 0;
    for (; read < header_.links; ++read) {
      const std::vector<std::string_view> words = next_words();
      if (words.empty()) break;
      if (words.size() != words_of_link) {
        refuse(fmt::format("{} words, expected {}: two nodes, bandwidth, latency, error rate",
                           words.size(), words_of_link));
      }
      read_link(words);
    }
    if (read < header_.links) {
      notes_.suspicious(1,
                        fmt::format("the header says {} links, there are {}", header_.links, read));
    }
    note_rest();
  }

  void read_link(const std::vector<std::string_view>& words) {
    const std::size_t from = node(words[0], "the number of a node");
    const std::size_t to = node(words[1], "the number of a node");
    GraphSpec::GraphCable cable;
    cable.spec.bandwidth_bytes_per_second =
        ns3_bandwidth(origin_, lines_.place_of(words[2]), words[2], notes_);
    cable.spec.latency_seconds = ns3_duration(origin_, lines_.place_of(words[3]), words[3], notes_);
    note_odd_link(line(), cable.spec, notes_);
    const std::optional<double> error_rate = decimal_number(words[4]);
    if (!error_rate)
      refuse(words[4], fmt::format("found {}, expected an error rate", quote(words[4])));
    if (*error_rate != 0.0) notes_.ignored(line(), "error rates other than 0");
    if (from == to) {
      notes_.suspicious(line(), fmt::format("a link from node {} to itself, left out", from));
      return;
    }
    if (!seen_.insert(std::min(from, to) * parts_.size() + std::max(from, to)).second) {
      notes_.suspicious(line(), fmt::format("another link between nodes {} and {}, which shortest "
                                            "routes never take",
                                            from, to));
    }
    cable.from = graph_.nodes[from].name;
    cable.to = graph_.nodes[to].name;
    cable.link_class = class_of(parts_[from], parts_[to]);
    const auto [low, high] = std::minmax({connected_with(from), connected_with(to)});
    roots_[high] = low;
    ends_.push_back(from);
    graph_.cables.push_back(std::move(cable));
  }

  static std::string class_of(Part from, Part to) {
    if (from == Part::nvswitch || to == Part::nvswitch) return "nvlink";
    return from == Part::host || to == Part::host ? "host" : "fabric";
  }

  void note_rest() {
    const std::vector<std::string_view> words = next_words();
    if (words.empty()) return;
    if (words.size() == words_of_link && whole_number(words[0])) {
      has_more_links_ = true;
      notes_.suspicious(
          line(), fmt::format("more links than the {} of the header, left out", header_.links));
    } else {
      notes_.ignored(line(), "the text behind the links");
    }
  }

  /// The lowest number of the nodes that are connected with this one.
  std::size_t connected_with(std::size_t node) {
    while (roots_[node] != node) node = roots_[node] = roots_[roots_[node]];
    return node;
  }

  void check_connected() {
    std::vector<GraphSpec::GraphNode> connected;
    const auto first = static_cast<std::size_t>(
        std::find(parts_.begin(), parts_.end(), Part::host) - parts_.begin());
    for (std::size_t index = 0; index < parts_.size(); ++index) {
      if (connected_with(index) == connected_with(first)) {
        connected.push_back(graph_.nodes[index]);
      } else if (parts_[index] == Part::host) {
        refuse_import(origin_, {},
                      fmt::format("no links lead from host {} to host {}{}", first, index,
                                  has_more_links_
                                      ? fmt::format("; behind the {} links of the header are more",
                                                    header_.links)
                                      : ""));
      } else {
        notes_.ignored(0, "switches that no host reaches");
      }
    }
    std::vector<GraphSpec::GraphCable> cables;
    for (std::size_t index = 0; index < ends_.size(); ++index) {
      if (connected_with(ends_[index]) != connected_with(first)) continue;
      cables.push_back(std::move(graph_.cables[index]));
    }
    graph_.cables = std::move(cables);
    graph_.nodes = std::move(connected);
    if (header_.switches + header_.nvswitches == 0 && parts_.size() > 2) {
      notes_.assumed(0, "hosts forward messages to those that they have no link to");
    }
  }

  std::string origin_;
  std::size_t bytes_;  ///< Of the text.
  LineReader lines_;
  bool of_simai_;
  Header header_;
  bool has_more_links_ = false;
  std::vector<Part> parts_;
  std::vector<std::size_t> roots_;        ///< By node, one that it is connected with, or itself.
  std::vector<std::size_t> ends_;         ///< By cable, its first node.
  std::unordered_set<std::size_t> seen_;  ///< Pairs of nodes.
  GraphSpec graph_;
  ImportNotes notes_;
};

Import import_physical(std::string_view text, const std::string& origin, bool of_simai) {
  PhysicalFile file(text, origin, of_simai);
  if (of_simai) {
    file.notes().ignored(1, "which GPUs are in one server, beyond their common NVSwitch");
  }
  return make_import(of_simai ? "SimAI topology" : "ns-3 physical topology", origin, file.notes(),
                     yaml_graph(file.graph()));
}

bool recognises_simai(std::string_view text) {
  return is_simai_header(header_words(text));
}

bool recognises_ns3(std::string_view text) {
  return is_ns3_header(header_words(text));
}

}  // namespace

Importer simai_importer() {
  return {"simai", "SimAI topology", recognises_simai,
          [](std::string_view text, const std::string& origin) {
            return import_physical(text, origin, true);
          }};
}

Importer ns3_importer() {
  return {"ns3", "physical topology of ns-3, as of ASTRA-sim and HPCC", recognises_ns3,
          [](std::string_view text, const std::string& origin) {
            return import_physical(text, origin, false);
          }};
}

}  // namespace tutti
