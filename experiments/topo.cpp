#include "experiments/topo.hpp"

#include <algorithm>
#include <charconv>

#include "collectives/error.hpp"
#include "experiments/files.hpp"
#include "experiments/graphviz.hpp"
#include "topologies/analysis.hpp"
#include "topologies/export.hpp"
#include "topologies/import.hpp"
#include "topologies/load.hpp"
#include "topologies/units.hpp"

namespace tutti {
namespace {

Shape load(const TopoFlags& flags, const std::string& file) {
  return load_topology(file, flags.changes, PlatformUse::imported);
}

std::string range(double smallest, double largest, std::string (*format)(double)) {
  if (smallest == largest) return format(smallest);
  return fmt::format("{} .. {}", format(smallest), format(largest));
}

// Figures for people, not for reading back.
std::string shown_bandwidth(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.4g} TB/s", bytes_per_second / 1e12);
  return fmt::format("{:.4g} GB/s", bytes_per_second / 1e9);
}

std::string shown_latency(double seconds) {
  return fmt::format("{:.4g} us", seconds * 1e6);
}

Json json_of(const ShapeSummary& summary, const Shape& shape) {
  Json classes = Json::array();
  for (const LinkClassSummary& links : summary.classes) {
    classes.push_back(
        {{"class", links.link_class},
         {"first", links.first},
         {"cables", links.cables},
         {"min_bandwidth_bytes_per_second", links.smallest_bandwidth_bytes_per_second},
         {"max_bandwidth_bytes_per_second", links.largest_bandwidth_bytes_per_second},
         {"min_latency_us", links.smallest_latency_seconds * 1e6},
         {"max_latency_us", links.largest_latency_seconds * 1e6}});
  }
  Json json{{"file", shape.file},
            {"topology", shape.name},
            {"hosts", summary.hosts},
            {"machines", summary.machines},
            {"ranks", shape.size()},
            {"switches", summary.switches},
            {"links", std::move(classes)},
            {"diameter_links", summary.diameter_links},
            {"mean_links", summary.mean_links},
            {"max_latency_us", summary.largest_latency_seconds * 1e6},
            {"bisection_bytes_per_second", summary.bisection_bytes_per_second},
            {"oversubscription", nullptr},
            {"path_diversity", summary.path_diversity},
            {"sampled", summary.sampled}};
  if (summary.oversubscription) json["oversubscription"] = *summary.oversubscription;
  return json;
}

// What --fail node:NAME can name.
std::string switch_names(const Shape& shape) {
  const auto is_switch = [](const Node& node) { return node.kind == Node::Kind::fabric; };
  const auto first = std::find_if(shape.nodes.begin(), shape.nodes.end(), is_switch);
  if (first == shape.nodes.end()) return "";
  const auto last = std::find_if(shape.nodes.rbegin(), shape.nodes.rend(), is_switch);
  return first->name == last->name ? ", " + first->name
                                   : fmt::format(", {} .. {}", first->name, last->name);
}

void print_summary(const ShapeSummary& summary, const Shape& shape, Output& output) {
  output.print("# tutti topo show: {}", shape.file);
  output.print("topology          {}", shape.name);
  output.print("hosts             {}{}", summary.hosts,
               summary.machines == summary.hosts
                   ? std::string()
                   : fmt::format(", devices of {}", counted(summary.machines, "machine")));
  if (shape.size() != summary.hosts) output.print("ranks             {}", shape.size());
  output.print("switches          {}{}", summary.switches, switch_names(shape));
  output.print("diameter          {}, {}", counted(summary.diameter_links, "link"),
               shown_latency(summary.largest_latency_seconds));
  output.print("mean route        {:.2f} links{}", summary.mean_links,
               summary.sampled ? ", of a sample of pairs" : "");
  output.print("bisection         {}", shown_bandwidth(summary.bisection_bytes_per_second));
  output.print("oversubscription  {}", summary.oversubscription
                                           ? fmt::format("{:.3g} : 1", *summary.oversubscription)
                                           : "n/a");
  output.print("path diversity    {} without a common cable, between the farthest hosts",
               counted(summary.path_diversity, "route"));
  output.line("");
  constexpr auto layout = "{:<16} {:>8}  {:<24} {:<18} {}";
  output.print(layout, "links", "cables", "bandwidth", "latency", "the first");
  for (const LinkClassSummary& links : summary.classes) {
    output.print(
        layout, links.link_class, links.cables,
        range(links.smallest_bandwidth_bytes_per_second, links.largest_bandwidth_bytes_per_second,
              shown_bandwidth),
        range(links.smallest_latency_seconds, links.largest_latency_seconds, shown_latency),
        links.first);
  }
}

int host_named(const Shape& shape, const std::string& name) {
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    if (shape.hosts[host].name == name) return static_cast<int>(host);
  }
  int number = -1;
  const char* const end = name.data() + name.size();
  const auto [rest, status] = std::from_chars(name.data(), end, number);
  const int hosts = static_cast<int>(shape.hosts.size());
  if (status == std::errc{} && rest == end && number >= 0 && number < hosts) return number;
  throw Error(ErrorKind::usage,
              fmt::format("{}: no host '{}', expected 0 to {} or a name such as '{}'", shape.file,
                          shorten_words(name), hosts - 1, shape.hosts.front().name));
}

void print_or_write(const TopoFlags& flags, const std::string& text, Output& output) {
  if (flags.output_file.empty()) {
    output.line(text.ends_with('\n') ? std::string_view(text).substr(0, text.size() - 1) : text);
  } else {
    write_file(flags.output_file, text);
  }
}

std::string_view name_of(ImportNote::Kind kind) {
  switch (kind) {
    case ImportNote::Kind::ignored:
      return "ignored";
    case ImportNote::Kind::assumed:
      return "assumed";
    case ImportNote::Kind::suspicious:
      return "suspicious";
  }
  return "";
}

bool is_ours(const std::string& text, const std::string& file) {
  const auto recognises = [&](const Importer& importer) { return importer.recognises(text); };
  if (std::any_of(importers().begin(), importers().end(), recognises)) return false;
  try {
    parse_shape(text, file);
    return true;
  } catch (const ShapeError&) {
    return false;
  }
}

// Taken as they stand, but more or less than any cable has.
void report_suspicious(const Shape& shape, const std::string& file, Output& output) {
  constexpr double most_bytes_per_second = 10e12, fewest_bytes_per_second = 1e3;
  constexpr double most_seconds = 1.0;
  for (const LinkClassSummary& links : classes_of(shape)) {
    if (links.link_class == imported_joint_class) continue;
    const auto report = [&](const std::string& what, std::string_view expected) {
      output.print("{}: suspicious: links of class {} have {}, expected {}?", file,
                   links.link_class, what, expected);
    };
    const double largest = links.largest_bandwidth_bytes_per_second;
    const double smallest = links.smallest_bandwidth_bytes_per_second;
    if (largest > most_bytes_per_second || smallest < fewest_bytes_per_second) {
      report(shown_bandwidth(largest > most_bytes_per_second ? largest : smallest),
             "bytes (Bps) or bits (bps), and which prefix");
    }
    if (links.largest_latency_seconds > most_seconds) {
      report(fmt::format("{} s of latency", links.largest_latency_seconds), "us or ms");
    }
  }
}

}  // namespace

void show_topology(const TopoFlags& flags, Output& output) {
  const Shape shape = load(flags, flags.file);
  if (!flags.dot.empty()) write_file(flags.dot, export_dot(shape));
  if (!flags.svg.empty()) write_file(flags.svg, draw_svg(shape));
  const ShapeSummary summary = summarise(shape);
  if (flags.json) return output.line(json_of(summary, shape).dump());
  print_summary(summary, shape, output);
}

void show_route(const TopoFlags& flags, Output& output) {
  const Shape shape = load(flags, flags.file);
  const int from = host_named(shape, flags.from), to = host_named(shape, flags.to);
  const Route route = shape.route(from, to);
  const double bandwidth = shape.bandwidth_bytes_per_second(route);
  if (flags.json) {
    Json links = Json::array();
    for (const int index : route) {
      const Link& link = shape.links[static_cast<std::size_t>(index)];
      links.push_back({{"link", link.name},
                       {"class", link.link_class},
                       {"bandwidth_bytes_per_second", link.bandwidth_bytes_per_second},
                       {"latency_us", link.latency_seconds * 1e6},
                       {"overhead_us", link.overhead_seconds * 1e6}});
    }
    Json json{{"file", shape.file},
              {"from", shape.hosts[static_cast<std::size_t>(from)].name},
              {"to", shape.hosts[static_cast<std::size_t>(to)].name},
              {"links", std::move(links)},
              {"latency_us", shape.latency_seconds(route) * 1e6},
              {"bandwidth_bytes_per_second", nullptr}};
    if (!route.empty()) json["bandwidth_bytes_per_second"] = bandwidth;
    return output.line(json.dump());
  }
  output.print("# tutti topo route: {}, from {} to {}", shape.file,
               shape.hosts[static_cast<std::size_t>(from)].name,
               shape.hosts[static_cast<std::size_t>(to)].name);
  output.print("{:<36} {:<14} {:>14} {:>12}", "link", "class", "bandwidth", "latency");
  for (const int index : route) {
    const Link& link = shape.links[static_cast<std::size_t>(index)];
    output.print("{:<36} {:<14} {:>14} {:>12}", link.name, link.link_class,
                 shown_bandwidth(link.bandwidth_bytes_per_second),
                 shown_latency(link.latency_seconds));
  }
  const double overhead = shape.overhead_seconds(route);
  if (overhead > 0.0) {
    output.print("{:<36} {:<14} {:>14} {:>12}", "overhead of a message", "", "",
                 shown_latency(overhead));
  }
  output.print("{:<36} {:<14} {:>14} {:>12}", counted(static_cast<long long>(route.size()), "link"),
               "", route.empty() ? "n/a" : shown_bandwidth(bandwidth),
               shown_latency(shape.latency_seconds(route)));
}

bool check_topologies(const TopoFlags& flags, Output& output) {
  bool all_good = true;
  for (const std::string& file : flags.files) {
    try {
      const Shape shape = load(flags, file);
      output.print("{}: good, {} with room for {}", file, shape.name,
                   counted(shape.size(), "rank"));
      report_suspicious(shape, file, output);
    } catch (const ShapeError& error) {
      output.line(error.what());
      all_good = false;
    }
  }
  return all_good;
}

void import_file(const TopoFlags& flags, Output& output) {
  const std::string& file = flags.file;
  const std::string text = read_file(file, maximum_import_bytes);
  if (flags.format.empty() && is_ours(text, file)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: is a topology already, which --topology takes as it is", file));
  }
  const Import import = import_topology(text, file, flags.format);
  print_or_write(flags, import.yaml, output);
  fmt::print(stderr, "tutti: {} is {}\n", file, import.kind);
  for (const ImportNote& note : import.notes) {
    const std::string line = note.line > 0 ? fmt::format(":{}", note.line) : "";
    fmt::print(stderr, "{}{}: {}: {}\n", file, line, name_of(note.kind), note.text);
  }
}

void export_topology(const TopoFlags& flags, Output& output) {
  const Shape shape = load(flags, flags.file);
  if (flags.format == "dot") return print_or_write(flags, export_dot(shape), output);
  const bool is_simgrid = flags.format == "simgrid";
  const ExportFormat format = is_simgrid ? ExportFormat::simgrid : ExportFormat::astra;
  print_or_write(flags, is_simgrid ? export_simgrid(shape) : export_astra(shape), output);
  for (const std::string& loss : export_losses(shape, format)) {
    warn(fmt::format("{}: {} has no place for {}", flags.file, flags.format, loss));
  }
}

}  // namespace tutti
