// tutti topo: looks at cluster shapes, checks them, and converts them.
#pragma once

#include <string>
#include <vector>

#include "experiments/output.hpp"
#include "experiments/topology_file.hpp"

namespace tutti {

struct TopoFlags {
  std::string file;
  std::vector<std::string> files;  ///< Of a check.
  ShapeChanges changes;
  std::string svg;          ///< Where to draw; "" is nowhere.
  std::string dot;          ///< Likewise, as Graphviz text.
  std::string from, to;     ///< Hosts, by name or number.
  std::string format;       ///< Of an import or export; "" is what the content says.
  std::string output_file;  ///< "" is stdout.
  bool json = false;
};

/// The summary, and drawings where wanted. Errors as load_topology()'s.
void show_topology(const TopoFlags& flags, Output& output);

/// The links between two hosts. Throws Error(usage) for a host that is not there.
void show_route(const TopoFlags& flags, Output& output);

/// One line a file: what it holds, or FILE:LINE:COLUMN and what is wrong. Returns whether all are
/// good.
bool check_topologies(const TopoFlags& flags, Output& output);

/// Our YAML to stdout or a file, and a report of what was ignored, assumed or suspicious to stderr.
void import_file(const TopoFlags& flags, Output& output);

/// simgrid, astra or dot, to stdout or a file.
void export_topology(const TopoFlags& flags, Output& output);

}  // namespace tutti
