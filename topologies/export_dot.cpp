#include <fmt/format.h>

#include <map>
#include <queue>
#include <string_view>
#include <vector>

#include "topologies/export.hpp"
#include "topologies/units.hpp"

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

void write_node(const Node& node, std::string_view indent, std::string& dot) {
  dot += fmt::format("{}{} [shape={}];\n", indent, in_quotes(node.name), outline_of(node.kind));
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
    for (const Node* node : nodes) write_node(*node, is_framed ? "    " : "  ", dot);
    if (is_framed) dot += "  }\n";
  }
}

void write_links(const Shape& shape, std::string& dot) {
  const auto name = [&](int node) {
    return in_quotes(shape.nodes[static_cast<std::size_t>(node)].name);
  };
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    const Link& link = shape.links[index];
    const int number = static_cast<int>(index);
    if (link.opposite >= 0 && link.opposite < number) continue;
    dot += fmt::format("  {} -- {} [label=\"{}\\n{}\", tooltip={}", name(link.from), name(link.to),
                       format_bandwidth(link.bandwidth_bytes_per_second),
                       format_duration(link.latency_seconds), in_quotes(link.name));
    if (link.opposite < 0) dot += ", dir=forward";
    if (link.is_shared(number)) dot += ", style=dashed";
    if (link.failed) dot += ", style=dotted, color=red";
    dot += "];\n";
  }
}

}  // namespace

std::string export_dot(const Shape& shape) {
  std::string dot = fmt::format("graph {} {{\n  node [fontsize=10];\n  edge [fontsize=8];\n",
                                in_quotes(shape.name));
  write_nodes(shape, dot);
  write_links(shape, dot);
  return dot + "}\n";
}

}  // namespace tutti
