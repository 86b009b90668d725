#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "topologies/export.hpp"
#include "topologies/export_losses.hpp"
#include "topologies/import.hpp"

namespace tutti {
namespace {

/// How a link of ours is written: the id of a link of SimGrid's, and which half of it.
struct Half {
  std::string id;
  const char* direction = nullptr;  ///< Null: it is no half.
};

std::vector<Half> write_links(const Shape& shape, pugi::xml_node zone) {
  std::vector<Half> halves(shape.links.size());
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    if (!halves[index].id.empty()) continue;
    const Link& link = shape.links[index];
    halves[index].id = link.name;
    const bool has_opposite = link.opposite >= 0 && link.opposite != static_cast<int>(index);
    const Link* const other =
        has_opposite ? &shape.links[static_cast<std::size_t>(link.opposite)] : nullptr;
    const bool is_split = other != nullptr && other->latency_seconds == link.latency_seconds &&
                          other->bandwidth_bytes_per_second == link.bandwidth_bytes_per_second;
    if (is_split) {
      halves[index].direction = "UP";
      halves[static_cast<std::size_t>(link.opposite)] = {link.name, "DOWN"};
    }
    pugi::xml_node element = zone.append_child("link");
    element.append_attribute("id") = link.name.c_str();
    element.append_attribute("bandwidth") =
        fmt::format("{}Bps", link.bandwidth_bytes_per_second).c_str();
    element.append_attribute("latency") = fmt::format("{}s", link.latency_seconds).c_str();
    element.append_attribute("sharing_policy") = is_split ? "SPLITDUPLEX" : "SHARED";
  }
  return halves;
}

void write_route(const Shape& shape, const std::vector<Half>& halves, int from, int to,
                 bool is_symmetrical, pugi::xml_node zone) {
  const Route links = shape.route(from, to);
  if (links.empty() && from == to) return;
  const auto name = [&](int host) { return shape.hosts[static_cast<std::size_t>(host)].name; };
  if (links.empty()) {
    throw ShapeError(fmt::format("no link on the route from {} to {}, which SimGrid needs",
                                 name(from), name(to)));
  }
  pugi::xml_node route = zone.append_child("route");
  route.append_attribute("src") = name(from).c_str();
  route.append_attribute("dst") = name(to).c_str();
  if (!is_symmetrical) route.append_attribute("symmetrical") = "NO";
  for (const int link : links) {
    const Half& half = halves[static_cast<std::size_t>(link)];
    pugi::xml_node element = route.append_child("link_ctn");
    element.append_attribute("id") = half.id.c_str();
    if (half.direction != nullptr) element.append_attribute("direction") = half.direction;
  }
}

/// Whether the way back is the same cables in the other order, as SimGrid supposes.
bool is_mirrored(const Shape& shape, int from, int to) {
  const Route there = shape.route(from, to);
  const Route back = shape.route(to, from);
  return std::equal(there.begin(), there.end(), back.rbegin(), back.rend(),
                    [&](int link, int other) {
                      return shape.links[static_cast<std::size_t>(link)].opposite == other;
                    });
}

/// A comment must not hold two hyphens in a row.
std::string as_comment(std::string text) {
  for (std::size_t at = 0; (at = text.find("--", at)) != std::string::npos;) text[at] = '~';
  return text;
}

}  // namespace

std::string export_simgrid(const Shape& shape) {
  const int hosts = static_cast<int>(shape.hosts.size());
  if (hosts > maximum_exported_hosts) {
    throw ShapeError(
        fmt::format("{} hosts, expected at most {}: the routes between all pairs are listed, since "
                    "SimGrid's own clusters route otherwise",
                    hosts, maximum_exported_hosts));
  }
  pugi::xml_document document;
  document.append_child(pugi::node_declaration).append_attribute("version") = "1.0";
  document.append_child(pugi::node_doctype)
      .set_value("platform SYSTEM \"https://simgrid.org/simgrid.dtd\"");
  document.append_child(pugi::node_comment)
      .set_value(as_comment(fmt::format(" {}.{} ", shape.name,
                                        sentence_of_losses(shape, ExportFormat::simgrid)))
                     .c_str());
  pugi::xml_node platform = document.append_child("platform");
  platform.append_attribute("version") = "4.1";
  pugi::xml_node zone = platform.append_child("zone");
  zone.append_attribute("id") = "world";
  zone.append_attribute("routing") = "Full";
  for (const Host& host : shape.hosts) {
    pugi::xml_node element = zone.append_child("host");
    element.append_attribute("id") = host.name.c_str();
    element.append_attribute("speed") = fmt::format("{}f", host.speed * 1e9).c_str();
    element.append_attribute("core") = host.cores;
  }
  const std::vector<Half> halves = write_links(shape, zone);
  for (int from = 0; from < hosts; ++from) {
    write_route(shape, halves, from, from, false, zone);
    for (int to = from + 1; to < hosts; ++to) {
      const bool mirrored = is_mirrored(shape, from, to);
      write_route(shape, halves, from, to, mirrored, zone);
      if (!mirrored) write_route(shape, halves, to, from, false, zone);
    }
  }
  std::ostringstream stream;
  document.save(stream, "  ");
  std::string text = std::move(stream).str();
  if (text.size() > maximum_import_bytes) {
    throw ShapeError(fmt::format(
        "the routes between {} hosts would be {} bytes in SimGrid's format, expected at "
        "most {}, which can be read again: fewer hosts or shorter routes",
        hosts, text.size(), maximum_import_bytes));
  }
  return text;
}

}  // namespace tutti
