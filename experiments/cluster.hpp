// The simulated cluster of a command: its shape, the ranks on it, and its cost model.
#pragma once

#include <string>
#include <vector>

#include "collectives/closed_form.hpp"
#include "experiments/engine.hpp"
#include "experiments/topology_file.hpp"
#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// How a command names a cluster.
struct ClusterFlags {
  std::string topology;
  ShapeChanges changes;
  std::vector<std::string> stragglers;  ///< "rank 5 by 200us", as words.
  std::string model = "alpha_beta";
  std::string engine = "auto";
};

struct Cluster {
  Shape shape;
  SimOptions options;
  int ranks = 1;
  Engine engine = Engine::automatic;
};

/// Reads the file; `ranks` 0 means all there is room for. Throws ShapeError, Error(usage) for more
/// ranks than there is room for, a straggler that is no rank, or an unknown model or engine, and
/// Error(system) for a file that cannot be read.
Cluster load_cluster(const ClusterFlags& flags, int ranks);

/// The same shape with rank r where rank members[r] was; none: all as they are.
Shape among(const Shape& shape, const std::vector<int>& members);

/// The best that any two ranks have: what lower bounds and explanations are made of.
CostModel cost_model(const Shape& shape, int ranks);

/// What a message gets on the slowest route between two ranks; infinite for one rank.
double slowest_bandwidth(const Shape& shape, int ranks);

/// What messages cost at most within and between groups, where the first group is rank 0 and those
/// before the rank to which the cost rises most, by factor; one class where that makes no
/// difference. Bandwidth is what a message gets when all ranks send at once, each to the next of
/// its group or to its like in the next group. Reductions and overheads are those of the slowest
/// host. Beyond some hundred ranks an even sample of the pairs is looked at.
CostProfile cost_profile(const Shape& shape, int ranks);

}  // namespace tutti
