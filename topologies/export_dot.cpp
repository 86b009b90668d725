#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <string_view>
#include <vector>

#include "topologies/export.hpp"

namespace tutti {
namespace {

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c >= 0 && c < ' ' ? '?' : c;
  }
  return result + '"';
}

std::string in_markup(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&' || c == '<' || c == '>') {
      result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;";
    } else {
      result += c >= 0 && c < ' ' ? '?' : c;
    }
  }
  return result;
}

std::string_view outline_of(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::host:
      return "box";
    case Node::Kind::nic:
      return "house";
    case Node::Kind::bridge:
      return "diamond";
    case Node::Kind::fabric:
      break;
  }
  return "ellipse";
}

/// Layers for few nodes, of which the hosts have a row of their own; springs for more, which fill a
/// page rather than a row that is much wider than high.
std::string_view layout_of(const Shape& shape) {
  constexpr std::size_t most_in_layers = 40;
  const bool has_switches =
      std::any_of(shape.nodes.begin(), shape.nodes.end(),
                  [](const Node& node) { return node.kind == Node::Kind::fabric; });
  if (!has_switches) return "neato";
  return shape.nodes.size() > most_in_layers ? "fdp" : "dot";
}

/// By node, the machine that it is in, or -1: bridges and NICs are in that of the host that is
/// nearest over others.
std::vector<int> machines_of(const Shape& shape) {
  std::vector<std::vector<int>> neighbours(shape.nodes.size());
  for (const Link& link : shape.links) {
    neighbours[static_cast<std::size_t>(link.from)].push_back(link.to);
    neighbours[static_cast<std::size_t>(link.to)].push_back(link.from);
  }
  std::vector<int> machines(shape.nodes.size(), -1);
  std::queue<int> open;
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    machines[host] = shape.hosts[host].machine;
    open.push(static_cast<int>(host));
  }
  for (; !open.empty(); open.pop()) {
    const auto node = static_cast<std::size_t>(open.front());
    for (const int next : neighbours[node]) {
      const auto index = static_cast<std::size_t>(next);
      if (machines[index] >= 0 || shape.nodes[index].kind == Node::Kind::fabric) continue;
      machines[index] = machines[node];
      open.push(next);
    }
  }
  return machines;
}

/// In the frame of its machine, a node needs no more than its own name.
void write_node(const Node& node, bool is_framed, std::string& dot) {
  const std::size_t slash = is_framed ? node.name.rfind('/') : std::string::npos;
  const std::string_view own =
      std::string_view(node.name).substr(slash == std::string::npos ? 0 : slash + 1);
  dot += fmt::format("{}{} [shape={}, label={}];\n", is_framed ? "    " : "  ",
                     in_quotes(node.name), outline_of(node.kind), in_quotes(own));
}

void write_nodes(const Shape& shape, std::string& dot) {
  const std::vector<int> machines = machines_of(shape);
  std::map<int, std::vector<const Node*>> members;
  for (std::size_t index = 0; index < shape.nodes.size(); ++index) {
    members[machines[index]].push_back(&shape.nodes[index]);
  }
  for (const auto& [machine, nodes] : members) {
    const bool is_framed = machine >= 0 && nodes.size() > 1;
    if (is_framed) {
      dot += fmt::format("  subgraph cluster_{} {{\n    label=\"machine {}\";\n", machine, machine);
    }
    for (const Node* node : nodes) write_node(*node, is_framed, dot);
    if (is_framed) dot += "  }\n";
  }
}

/// Of cables that are alike, which a legend can describe.
struct ClassStyle {
  std::string_view color;
  std::string figures;
  bool is_uniform = true;
};

std::string figures_of(const Link& link) {
  std::string text = fmt::format("{:.4g} GB/s, {:.4g} us", link.bandwidth_bytes_per_second / 1e9,
                                 link.latency_seconds * 1e6);
  if (link.overhead_seconds > 0.0) {
    text += fmt::format(", {:.4g} us a message", link.overhead_seconds * 1e6);
  }
  return text;
}

std::map<std::string, ClassStyle> styles_of(const Shape& shape) {
  // Okabe and Ito's palette, which the colour-blind can tell apart.
  constexpr std::array<std::string_view, 6> palette = {"#0072B2", "#D55E00", "#009E73",
                                                       "#CC79A7", "#56B4E9", "#E69F00"};
  std::map<std::string, ClassStyle> styles;
  for (const Link& link : shape.links) {
    const auto [style, added] = styles.try_emplace(link.link_class);
    const std::string figures = figures_of(link);
    if (added) style->second = {palette[(styles.size() - 1) % palette.size()], figures, true};
    if (style->second.figures != figures) style->second.is_uniform = false;
  }
  return styles;
}

void write_legend(const std::map<std::string, ClassStyle>& styles, std::string& dot) {
  dot += "  label=<<table border=\"0\" cellborder=\"0\">";
  for (const auto& [link_class, style] : styles) {
    dot += fmt::format(
        "<tr><td align=\"left\"><font color=\"{}\">{}</font></td><td align=\"left\">{}</td></tr>",
        style.color, in_markup(link_class), style.is_uniform ? style.figures : "as labelled");
  }
  dot += "</table>>;\n";
}

void write_links(const Shape& shape, const std::map<std::string, ClassStyle>& styles,
                 std::string& dot) {
  const auto name = [&](int node) {
    return in_quotes(shape.nodes[static_cast<std::size_t>(node)].name);
  };
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    const int number = static_cast<int>(index);
    if (link.opposite >= 0 && link.opposite < number) continue;
    const ClassStyle& style = styles.at(link.link_class);
    dot += fmt::format("  {} -- {} [tooltip={}", name(link.from), name(link.to),
                       in_quotes(fmt::format("{}: {}", link.name, figures_of(link))));
    if (!style.is_uniform) dot += fmt::format(", label={}", in_quotes(figures_of(link)));
    if (link.opposite < 0) dot += ", dir=forward";
    if (link.is_shared(number)) dot += ", style=dashed";
    dot += link.failed ? ", style=dotted, color=red" : fmt::format(", color=\"{}\"", style.color);
    dot += "];\n";
  }
}

}  // namespace

std::string export_dot(const Shape& shape) {
  const std::string_view layout = layout_of(shape);
  std::string dot = fmt::format(
      "graph {} {{\n  layout={}; rankdir=BT; nodesep=0.1; K=0.4; overlap={}; splines={}; "
      "sep=\"+4\"; outputorder=edgesfirst; fontsize=10;\n"
      "  node [fontsize=10, margin=\"0.04,0.02\", width=0.2, height=0.2, style=filled, "
      "fillcolor=white];\n  edge [fontsize=8];\n",
      in_quotes(shape.name), layout, layout == "neato" ? "false" : "prism",
      layout == "fdp" ? "line" : "true");
  const std::map<std::string, ClassStyle> styles = styles_of(shape);
  write_nodes(shape, dot);
  write_links(shape, styles, dot);
  // Last, or the frames of machines would have it too.
  if (!styles.empty()) write_legend(styles, dot);
  return dot + "}\n";
}

}  // namespace tutti
