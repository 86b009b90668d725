// What a SimGrid platform's XML says, before it becomes a shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "topologies/fabric.hpp"
#include "topologies/import_xml.hpp"
#include "topologies/import_yaml.hpp"

namespace tutti {

/// How the messages on a SimGrid link share it.
enum class SimSharing : std::uint8_t {
  shared,        ///< One medium for both directions.
  split_duplex,  ///< A medium for each direction.
  fat_pipe,      ///< None: each message has all of it.
};

struct SimLink {
  std::string name;
  LinkSpec spec;
  SimSharing sharing = SimSharing::shared;
  std::string link_class;  ///< For our cables.
};

/// A link as a part of a route; `down` is the second direction of a split-duplex link.
struct SimStep {
  int link = -1;
  bool down = false;
};

/// The links from one point to another.
struct SimRoute {
  int from = -1;  ///< Points: hosts or routers, or zones.
  int to = -1;
  int gateway_from = -1;  ///< Where it leaves a zone `from` and enters a zone `to`; else the same.
  int gateway_to = -1;
  std::vector<SimStep> steps;
  bool symmetrical = true;
};

/// A host of a flat cluster with its links to and from the middle.
struct SimSpoke {
  int point = -1;
  SimStep up;
  SimStep down;
};

/// A host, router or zone.
struct SimPoint {
  enum class Kind : std::uint8_t { host, router, zone };
  std::string name;
  Kind kind = Kind::host;
  int parent = -1;  ///< The zone that it is directly in; -1 of the outermost.
  int zone = -1;    ///< Of a zone, its index.
};

/// <cluster>: its attributes.
struct SimCluster {
  enum class Kind : std::uint8_t { flat, torus, fat_tree, dragonfly };
  std::string name;
  Kind kind = Kind::flat;
  std::string prefix;
  std::string suffix;
  std::vector<int> numbers;  ///< Of the hosts, between prefix and suffix.
  std::string router;
  SimLink link;
  std::optional<SimLink> backbone = {};
  std::optional<LinkSpec> limiter = {};
  HostSpec host;
  std::vector<std::vector<int>> parameters;  ///< topo_parameters, by its semicolons and commas.
  int line = 0;
  Place parameters_place = {};  ///< Of topo_parameters.

  std::size_t size() const { return numbers.size(); }
  std::string host_name(std::size_t index) const {
    return prefix + std::to_string(numbers[index]) + suffix;
  }
};

struct SimZone {
  enum class Kind : std::uint8_t { full, shortest, cluster };
  int point = -1;
  Kind kind = Kind::full;
  std::vector<SimRoute> routes;
  std::vector<SimSpoke> spokes;
  int backbone = -1;  ///< A link, or -1.
  int router = -1;    ///< Of a cluster, the point at its middle, or -1.
  bool is_empty = true;
  std::optional<SimCluster> cluster = {};
};

/// A whole platform. Points and links are known by name.
struct SimPlatform {
  std::string version;
  std::vector<SimPoint> points;
  std::vector<SimLink> links;
  std::vector<SimZone> zones;  ///< The outermost first.
  std::unordered_map<std::string, int> point_names;
  std::unordered_map<std::string, int> link_names;
  std::vector<HostSpec> hosts;             ///< What each host is like, in order.
  std::vector<LinkSpec> loopbacks;         ///< Of routes from a host to itself.
  std::size_t steps = 0;                   ///< Of all routes.
  std::optional<SimCluster> only_cluster;  ///< Where the platform is one cluster and nothing else.
};

/// Reads the whole text. Throws ShapeError "ORIGIN:LINE:COLUMN: what" for what SimGrid would refuse
/// and what cannot be imported. A platform that is only one cluster is not expanded.
SimPlatform read_simgrid(const XmlText& text, ImportNotes& notes);

/// Throws as XmlText::refuse() for the first attribute of the element, or of what is in it, that
/// SimGrid does not know, with the one that was probably meant.
void check_simgrid_attributes(const XmlText& text, pugi::xml_node element);

/// Refuses an element where it has no meaning.
[[noreturn]] void refuse_simgrid_element(const XmlText& text, pugi::xml_node element);

/// Notes all that a <config> sets.
void note_simgrid_config(const XmlText& text, pugi::xml_node config, ImportNotes& notes);

/// The attributes of a <cluster> element.
SimCluster read_simgrid_cluster(const XmlText& text, pugi::xml_node element, ImportNotes& notes);

/// A bandwidth, or a latency, as SimGrid writes it: also without a unit, which is suspicious.
double read_simgrid_bandwidth(const XmlText& text, pugi::xml_node element, const char* attribute,
                              ImportNotes& notes);
double read_simgrid_latency(const XmlText& text, pugi::xml_node element, const char* attribute,
                            ImportNotes& notes);
SimSharing read_simgrid_sharing(const XmlText& text, pugi::xml_node element, const char* attribute,
                                SimSharing otherwise);

/// The numbers of a 'radical', such as 0-15,20.
std::vector<int> read_simgrid_radical(const XmlText& text, pugi::xml_node element);

/// Our YAML of one of our kinds that is this cluster; nothing where none is.
std::optional<std::string> simgrid_cluster_yaml(const SimCluster& cluster,
                                                const std::string& origin, ImportNotes& notes);

/// The nodes and cables of any cluster but one that simgrid_cluster_yaml() makes a star of, with
/// hosts named as the cluster's.
GraphSpec simgrid_cluster_graph(const SimCluster& cluster, const std::string& origin,
                                ImportNotes& notes);

/// Where the routes of a platform go in a graph: the cables, and the nodes along each route.
struct SimWalk {
  int from = -1;  ///< Nodes of the graph.
  int to = -1;
  std::vector<SimStep> steps;
  bool symmetrical = true;
  std::vector<int> forwards;   ///< Results: nodes, ends included,
  std::vector<int> backwards;  ///< and of the way back; empty unless symmetrical.
};

/// Finds ends for all links that the walks cross such that each walk is a way in the graph and
/// links are shared as in SimGrid, and adds nodes and cables to the graph. SimGrid's links have no
/// ends of their own: one that fits between two nodes becomes a cable, others a one-way link that
/// is reached over joints of no latency.
void lay_out_walks(const std::vector<SimLink>& links, std::vector<SimWalk>& walks, GraphSpec& graph,
                   ImportNotes& notes);

/// The platform as a graph, with given routes where the shortest would differ.
GraphSpec simgrid_graph(const SimPlatform& platform, const std::string& origin, ImportNotes& notes);

/// Joins nodes where SimGrid has no link: latency zero, and a bandwidth that nothing exceeds.
GraphSpec::GraphCable simgrid_joint(const std::string& from, const std::string& to);

}  // namespace tutti
