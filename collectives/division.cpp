#include "collectives/division.hpp"

#include <algorithm>

namespace tutti {

std::vector<std::size_t> Division::counts_of(int rank) const {
  std::vector<std::size_t> own = counts;
  if (collective == Collective::alltoall && !own.empty()) {
    std::rotate(own.begin(), own.begin() + rank, own.end());
  }
  return own;
}

Parts Division::parts_of(Block whole, int rank) const {
  return counts.empty() ? Parts(whole, size) : Parts(whole, counts_of(rank));
}

Block Division::input_of(Block whole, int rank) const {
  switch (collective) {
    case Collective::allgather:
    case Collective::gather:
      return parts_of(whole, rank)[rank];
    case Collective::broadcast:
    case Collective::scatter:
      return rank == root ? whole : whole.slice(0, 0);
    case Collective::barrier:
      return whole.slice(0, 0);
    default:
      return whole;
  }
}

Block Division::result_of(Block whole, int rank) const {
  switch (collective) {
    case Collective::reduce_scatter:
    case Collective::scatter:
      return parts_of(whole, rank)[rank];
    case Collective::reduce:
    case Collective::gather:
      return rank == root ? whole : whole.slice(0, 0);
    case Collective::barrier:
      return whole.slice(0, 0);
    default:
      return whole;
  }
}

}  // namespace tutti
