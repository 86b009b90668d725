// CutBound: what must cross from one part of a cluster to the other, and how fast it can.
#pragma once

#include <vector>

#include "experiments/question.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// A set of nodes with what can leave and enter it.
struct Cut {
  std::vector<int> inside;  ///< Its ranks, ascending; neither none nor all.
  double out_bytes_per_second = 0.0;
  double in_bytes_per_second = 0.0;
};

/// For each switch itself with the hosts below it: the first `ranks` of them that are there. Only
/// where all links have ends and flows share them, so none of a SimGrid platform. Cost: linear in
/// links, times the switches that see the same hosts, of which only so many are looked at.
std::vector<Cut> cuts_below_switches(const Shape& shape, int ranks);

/// What the links of the best connected host can carry away, or bring if that is more; infinity
/// where there are no cuts either.
double widest_host_bytes_per_second(const Shape& shape);

/// A time that no algorithm can beat, since each part must learn what only the other knows:
/// allreduce n bytes each way, the others their parts. Parts count as the smallest ones. 0 for
/// parts of unequal sizes and a barrier.
double cut_seconds(const std::vector<Cut>& cuts, const Job& job, int ranks);

}  // namespace tutti
