#include "topologies/import_yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "topologies/document.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::size_t maximum_notes_of_kind = 100;
constexpr std::array<std::string_view, 3> kind_names = {"ignored", "assumed", "suspicious"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

/// Whether YAML readers take the text for a string, and for the same one.
bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 9> reserved = {"true", "false", "yes", "no", "on",
                                                        "off",  "null",  "y",   "n"};
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_word)) return false;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const bool begins_with_letter = lower[0] >= 'a' && lower[0] <= 'z';
  return begins_with_letter && std::find(reserved.begin(), reserved.end(), lower) == reserved.end();
}

/// Bytes of the UTF-8 character that the text begins with; 0 if it begins with none.
std::size_t utf8_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool surrogate = first == 0xed && byte(1) >= 0xa0;
  const bool too_large = first == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : bytes;
}

/// The characters of a comment or a double-quoted scalar, on one line.
std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = utf8_bytes(text.substr(i));
    const auto first = static_cast<unsigned char>(text[i]);
    // Beyond ASCII the controls of the second page and the special line ends of Unicode are hidden.
    const bool printable = bytes == 1 ? first >= 0x20 && first != 0x7f
                                      : bytes > 1 && !(first == 0xc2) && !(first == 0xe2);
    if (text[i] == '"' || text[i] == '\\') {
      result += {'\\', text[i]};
    } else if (printable) {
      result += text.substr(i, bytes);
    } else if (bytes == 2) {
      const int code = ((first & 0x1f) << 6) | (static_cast<unsigned char>(text[i + 1]) & 0x3f);
      result += fmt::format("\\u{:04x}", code);
    } else if (bytes == 3) {
      const int code = ((first & 0x0f) << 12) |
                       ((static_cast<unsigned char>(text[i + 1]) & 0x3f) << 6) |
                       (static_cast<unsigned char>(text[i + 2]) & 0x3f);
      result += fmt::format("\\u{:04x}", code);
    } else {
      result += fmt::format("\\x{:02x}", first);
    }
    i += std::max<std::size_t>(bytes, 1);
  }
  return result;
}

std::string shown_note(const ImportNote& note) {
  const std::string_view kind = kind_names[static_cast<std::size_t>(note.kind)];
  if (note.line == 0) return fmt::format("{}: {}", kind, note.text);
  return fmt::format("{}, line {}: {}", kind, note.line, note.text);
}

void write_nodes(const GraphSpec& graph, std::string& yaml) {
  yaml += "nodes:\n";
  for (const GraphSpec::GraphNode& node : graph.nodes) {
    yaml += fmt::format("  - {{name: {}, kind: {}}}\n", yaml_string(node.name),
                        node.is_host ? "host" : "switch");
  }
}

void write_cables(const GraphSpec& graph, std::string& yaml) {
  yaml += graph.cables.empty() ? "links: []\n" : "links:\n";
  for (const GraphSpec::GraphCable& cable : graph.cables) {
    yaml += fmt::format("  - {{between: [{}, {}], {}, class: {}{}}}\n", yaml_string(cable.from),
                        yaml_string(cable.to), yaml_link_keys(cable.spec),
                        yaml_string(cable.link_class), cable.one_way ? ", duplex: one_way" : "");
  }
}

std::string joined_names(const std::vector<std::string>& names) {
  std::vector<std::string> written;
  std::transform(names.begin(), names.end(), std::back_inserter(written),
                 [](const std::string& name) { return yaml_string(name); });
  return fmt::format("[{}]", fmt::join(written, ", "));
}

}  // namespace

std::string located_import(const std::string& origin, const Place& place, std::string_view reason) {
  std::string where = shown_path(origin);
  if (place.line > 0) where += fmt::format(":{}", place.line);
  if (place.line > 0 && place.column > 0) where += fmt::format(":{}", place.column);
  return fmt::format("{}: {}", where, reason);
}

void refuse_import(const std::string& origin, const Place& place, std::string_view reason) {
  throw ShapeError(located_import(origin, place, reason));
}

std::string fault_of_import_name(std::string_view name) {
  if (name.empty()) return "a name is empty";
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; })) {
    return fmt::format("the name {} has control characters", quote(name));
  }
  // What is not ASCII may take twice the bytes when it is written.
  const auto others = std::count_if(name.begin(), name.end(), [](char c) { return c < 0; });
  if (name.size() + static_cast<std::size_t>(others) <= maximum_import_name_bytes) return {};
  return fmt::format("the name {} has {} bytes, expected at most {}", quote(name), name.size(),
                     maximum_import_name_bytes);
}

void check_import_size(const std::string& origin, const GraphSpec& graph) {
  if (graph.nodes.size() > maximum_import_nodes) {
    refuse_import(origin, {}, fmt::format("more than {} nodes", maximum_import_nodes));
  }
  if (graph.cables.size() > maximum_import_cables) {
    refuse_import(origin, {}, fmt::format("more than {} links", maximum_import_cables));
  }
  std::unordered_set<std::string_view> names;
  for (const GraphSpec::GraphNode& node : graph.nodes) {
    if (names.insert(node.name).second) continue;
    refuse_import(origin, {}, fmt::format("two nodes would be named {}", quote(node.name)));
  }
}

void check_import_ways(const std::string& origin, const GraphSpec& graph) {
  std::unordered_map<std::string_view, std::size_t> numbers;
  for (const GraphSpec::GraphNode& node : graph.nodes) numbers.emplace(node.name, numbers.size());
  const auto is_host = [](const GraphSpec::GraphNode& node) { return node.is_host; };
  const auto first = std::find_if(graph.nodes.begin(), graph.nodes.end(), is_host);
  if (first == graph.nodes.end()) refuse_import(origin, {}, "no hosts");
  for (const bool along : {true, false}) {
    std::vector<std::vector<std::size_t>> next(graph.nodes.size());
    for (const GraphSpec::GraphCable& cable : graph.cables) {
      const std::size_t from = numbers.at(along ? cable.from : cable.to);
      const std::size_t to = numbers.at(along ? cable.to : cable.from);
      next[from].push_back(to);
      if (!cable.one_way) next[to].push_back(from);
    }
    std::vector<bool> seen(graph.nodes.size(), false);
    std::vector<std::size_t> open = {static_cast<std::size_t>(first - graph.nodes.begin())};
    seen[open.front()] = true;
    while (!open.empty()) {
      const std::size_t node = open.back();
      open.pop_back();
      for (const std::size_t neighbour : next[node]) {
        if (!seen[neighbour]) open.push_back(neighbour);
        seen[neighbour] = true;
      }
    }
    for (std::size_t node = 0; node < seen.size(); ++node) {
      if (seen[node] || !graph.nodes[node].is_host) continue;
      refuse_import(
          origin, {},
          fmt::format("no links lead {} {} {} {}", along ? "from" : "to", quote(first->name),
                      along ? "to" : "from", quote(graph.nodes[node].name)));
    }
  }
}

int column_after(std::string_view before) {
  const auto begins_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  };
  return static_cast<int>(std::count_if(before.begin(), before.end(), begins_character)) + 1;
}

PlaceIndex::PlaceIndex(std::string_view text) : text_(text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    ends_.push_back(at);
  }
}

int PlaceIndex::line_of(std::size_t offset) const {
  const auto end = std::lower_bound(ends_.begin(), ends_.end(), offset);
  return static_cast<int>(end - ends_.begin()) + 1;
}

Place PlaceIndex::place_of(std::size_t offset) const {
  const int line = line_of(offset);
  std::size_t begin = line == 1 ? 0 : ends_[static_cast<std::size_t>(line) - 2] + 1;
  if (offset < begin || offset > text_.size()) return {line, 0};
  if (line == 1 && text_.starts_with(byte_order_mark)) begin += byte_order_mark.size();
  begin = std::min(begin, offset);
  int column = 1;
  if (last_.line == line && last_offset_ >= begin && last_offset_ <= offset) {
    begin = last_offset_;
    column = last_.column;
  }
  last_ = {line, column - 1 + column_after(text_.substr(begin, offset - begin))};
  last_offset_ = offset;
  return last_;
}

void ImportNotes::ignored(int line, std::string text) {
  add(ImportNote::Kind::ignored, line, std::move(text));
}

void ImportNotes::assumed(int line, std::string text) {
  add(ImportNote::Kind::assumed, line, std::move(text));
}

void ImportNotes::suspicious(int line, std::string text) {
  add(ImportNote::Kind::suspicious, line, std::move(text));
}

void ImportNotes::add(ImportNote::Kind kind, int line, std::string text) {
  const auto same = std::find_if(kept_.begin(), kept_.end(), [&](const Counted& counted) {
    return counted.note.kind == kind && counted.note.text == text;
  });
  if (same != kept_.end()) {
    ++same->times;
    return;
  }
  const auto index = static_cast<std::size_t>(kind);
  if (kept_of_kind_[index] == maximum_notes_of_kind) {
    ++left_out_[index];
    return;
  }
  ++kept_of_kind_[index];
  kept_.push_back({{kind, line, std::move(text)}});
}

std::vector<ImportNote> ImportNotes::notes() const {
  std::vector<ImportNote> result;
  for (const Counted& counted : kept_) {
    result.push_back(counted.note);
    if (counted.times == 1) continue;
    result.back().text += fmt::format(" (first of {} times)", counted.times);
  }
  std::stable_sort(
      result.begin(), result.end(),
      [](const ImportNote& left, const ImportNote& right) { return left.line < right.line; });
  for (std::size_t kind = 0; kind < left_out_.size(); ++kind) {
    if (left_out_[kind] == 0) continue;
    result.push_back({static_cast<ImportNote::Kind>(kind), 0,
                      fmt::format("{} more that are not listed", left_out_[kind])});
  }
  return result;
}

std::string yaml_string(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  return fmt::format("\"{}\"", escaped(text));
}

std::string yaml_list(const std::vector<int>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string yaml_link_keys(const LinkSpec& link) {
  std::string keys =
      fmt::format("bandwidth: {}, latency: {}", format_bandwidth(link.bandwidth_bytes_per_second),
                  format_duration(link.latency_seconds));
  if (link.overhead_seconds > 0.0) {
    keys += fmt::format(", overhead: {}", format_duration(link.overhead_seconds));
  }
  if (link.shared) keys += ", duplex: shared";
  return keys;
}

std::string yaml_link(const LinkSpec& link) {
  return fmt::format("{{{}}}", yaml_link_keys(link));
}

std::string yaml_host(const HostSpec& host) {
  std::vector<std::string> keys;
  if (host.cores != 1) keys.push_back(fmt::format("cores: {}", host.cores));
  if (host.reduction_bytes_per_second) {
    keys.push_back(
        fmt::format("reduction: {}", format_bandwidth(*host.reduction_bytes_per_second)));
  }
  if (host.send_overhead_seconds > 0.0) {
    keys.push_back(fmt::format("send_overhead: {}", format_duration(host.send_overhead_seconds)));
  }
  if (host.receive_overhead_seconds > 0.0) {
    keys.push_back(
        fmt::format("receive_overhead: {}", format_duration(host.receive_overhead_seconds)));
  }
  if (host.loopback) keys.push_back(fmt::format("loopback: {}", yaml_link(*host.loopback)));
  return keys.empty() ? std::string() : fmt::format("host: {{{}}}\n", fmt::join(keys, ", "));
}

std::string yaml_graph(const GraphSpec& graph) {
  std::string yaml = "shape: graph\n";
  if (graph.metric == Metric::latency) yaml += "metric: latency\n";
  write_nodes(graph, yaml);
  write_cables(graph, yaml);
  if (!graph.routes.empty()) yaml += "routes:\n";
  for (const GraphSpec::GraphRoute& route : graph.routes) {
    const std::string names = joined_names(route.nodes);
    yaml += route.both_ways ? fmt::format("  - {}\n", names)
                            : fmt::format("  - {{nodes: {}, both_ways: false}}\n", names);
  }
  if (!graph.gateways.empty()) yaml += fmt::format("gateways: {}\n", joined_names(graph.gateways));
  return yaml;
}

Import make_import(std::string kind, const std::string& origin, const ImportNotes& notes,
                   std::string_view body) {
  Import result;
  result.notes = notes.notes();
  result.yaml = fmt::format("# Imported from {} ({}).\n", escaped(shown_path(origin)), kind);
  for (const ImportNote& note : result.notes) {
    result.yaml += fmt::format("#   {}\n", escaped(shown_note(note)));
  }
  if (result.yaml.size() + body.size() > maximum_document_bytes) {
    refuse_import(origin, {},
                  fmt::format("the import would have {} bytes, expected at most {}",
                              result.yaml.size() + body.size(), maximum_document_bytes));
  }
  result.yaml += body;
  result.kind = std::move(kind);
  return result;
}

}  // namespace tutti
