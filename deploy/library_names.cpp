#include "deploy/library_names.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tutti {
namespace {

// Numbers of Open MPI 4.1's module `tuned`; names as from 6.0 on.
constexpr std::array<LibraryAlgorithm, 32> openmpi = {
    {{"allreduce", "naive", "basic_linear", 1},
     {"allreduce", "tree", "nonoverlapping", 2},
     {"allreduce", "recursive_doubling", "recursive_doubling", 3},
     {"allreduce", "ring", "ring", 4},
     {"allreduce", "ring_segmented", "segmented_ring", 5, true},
     {"allreduce", "rabenseifner", "rabenseifner", 6},
     {"broadcast", "linear", "basic_linear", 1},
     {"broadcast", "chain", "pipeline", 3, true},
     {"broadcast", "split_binary", "split_binary_tree", 4, true},
     {"broadcast", "binary", "binary_tree", 5, true},
     {"broadcast", "binomial", "binomial", 6},
     {"broadcast", "knomial", "knomial", 7},
     {"broadcast", "scatter_recursive_doubling", "scatter_allgather", 8},
     {"broadcast", "scatter_ring", "scatter_allgather_ring", 9},
     {"allgather", "linear", "linear", 1},
     {"allgather", "direct", "linear", 1},
     {"allgather", "bruck", "bruck", 2},
     {"allgather", "recursive_doubling", "recursive_doubling", 3},
     {"allgather", "ring", "ring", 4},
     {"allgather", "neighbor_exchange", "neighbor", 5},
     {"reduce_scatter", "recursive_halving", "recursive_halving", 2},
     {"reduce_scatter", "ring", "ring", 3},
     {"reduce", "linear", "linear", 1},
     {"reduce", "chain", "pipeline", 3, true},
     {"reduce", "binomial", "binomial", 5},
     {"alltoall", "direct", "linear", 1},
     {"alltoall", "pairwise", "pairwise", 2},
     {"alltoall", "bruck", "modified_bruck", 3},
     {"gather", "linear", "basic_linear", 1},
     {"gather", "binomial", "binomial", 2},
     {"scatter", "linear", "basic_linear", 1},
     {"scatter", "binomial", "binomial", 2}}};

constexpr std::array<LibraryAlgorithm, 13> mpich = {
    {{"allreduce", "recursive_doubling", "MPIR_Allreduce_intra_recursive_doubling"},
     {"allreduce", "rabenseifner", "MPIR_Allreduce_intra_reduce_scatter_allgather"},
     {"broadcast", "binomial", "MPIR_Bcast_intra_binomial"},
     {"broadcast", "scatter_recursive_doubling",
      "MPIR_Bcast_intra_scatter_recursive_doubling_allgather"},
     {"broadcast", "scatter_ring", "MPIR_Bcast_intra_scatter_ring_allgather"},
     {"allgather", "bruck", "MPIR_Allgather_intra_brucks"},
     {"allgather", "ring", "MPIR_Allgather_intra_ring"},
     {"reduce_scatter", "pairwise", "MPIR_Reduce_scatter_intra_pairwise"},
     {"reduce_scatter", "direct", "MPIR_Reduce_scatter_intra_pairwise"},
     {"reduce", "binomial", "MPIR_Reduce_intra_binomial"},
     {"alltoall", "bruck", "MPIR_Alltoall_intra_brucks"},
     {"alltoall", "pairwise", "MPIR_Alltoall_intra_pairwise"},
     {"alltoall", "direct", "MPIR_Alltoall_intra_scattered"}}};

constexpr std::array<LibraryAlgorithm, 15> ucc = {
    {{"allreduce", "recursive_multiplying", "knomial"},
     {"allreduce", "recursive_doubling", "knomial"},
     {"allreduce", "knomial", "knomial"},
     {"allreduce", "rabenseifner", "sra_knomial"},
     {"allreduce", "double_tree", "dbt"},
     {"broadcast", "knomial", "knomial"},
     {"broadcast", "binomial", "knomial"},
     {"broadcast", "scatter_recursive_doubling", "sag_knomial"},
     {"allgather", "ring", "ring"},
     {"allgather", "neighbor_exchange", "neighbor"},
     {"allgather", "bruck", "bruck"},
     {"allgather", "recursive_doubling", "knomial"},
     {"reduce_scatter", "ring", "ring"},
     {"reduce_scatter", "recursive_halving", "knomial"},
     {"alltoall", "pairwise", "pairwise"}}};

constexpr std::array<LibraryAlgorithm, 15> nccl = {
    {{"allreduce", "ring", "ring"},
     {"allreduce", "double_tree", "tree"},
     {"allreduce", "tree", "tree"},
     {"allreduce", "nvls", "nvls"},
     {"allreduce", "nvlstree", "nvls_tree"},
     {"allreduce", "collnetdirect", "collnet_direct"},
     {"allreduce", "collnetchain", "collnet_chain"},
     {"broadcast", "ring", "ring"},
     {"broadcast", "chain", "ring"},
     {"reduce", "ring", "ring"},
     {"reduce", "chain", "ring"},
     {"allgather", "ring", "ring"},
     {"allgather", "pat", "pat"},
     {"reduce_scatter", "ring", "ring"},
     {"reduce_scatter", "pat", "pat"}}};

constexpr std::array<LibraryAlgorithm, 27> simgrid = {
    {{"allreduce", "ring", "lr"},
     {"allreduce", "ring_segmented", "ompi_ring_segmented"},
     {"allreduce", "recursive_doubling", "rdb"},
     {"allreduce", "rabenseifner", "rab"},
     {"allreduce", "tree", "redbcast"},
     {"broadcast", "binomial", "binomial_tree"},
     {"broadcast", "linear", "flattree"},
     {"broadcast", "chain", "NTSL"},
     {"broadcast", "split_binary", "ompi_split_bintree"},
     {"broadcast", "scatter_ring", "scatter_LR_allgather"},
     {"broadcast", "scatter_recursive_doubling", "scatter_rdb_allgather"},
     {"allgather", "bruck", "bruck"},
     {"allgather", "ring", "ring"},
     {"allgather", "recursive_doubling", "rdb"},
     {"allgather", "neighbor_exchange", "ompi_neighborexchange"},
     {"reduce_scatter", "recursive_halving", "ompi_basic_recursivehalving"},
     {"reduce_scatter", "ring", "ompi_ring"},
     {"reduce_scatter", "pairwise", "mpich_pair"},
     {"reduce", "binomial", "binomial"},
     {"reduce", "linear", "flat_tree"},
     {"reduce", "chain", "NTSL"},
     {"alltoall", "bruck", "bruck"},
     {"alltoall", "pairwise", "pair"},
     {"alltoall", "direct", "basic_linear"},
     {"gather", "linear", "ompi_basic_linear"},
     {"gather", "binomial", "ompi_binomial"},
     {"scatter", "binomial", "ompi_binomial"}}};

std::span<const LibraryAlgorithm> algorithms_of(Library library) {
  switch (library) {
    case Library::openmpi:
      return openmpi;
    case Library::mpich:
      return mpich;
    case Library::ucc:
      return ucc;
    case Library::nccl:
      return nccl;
    case Library::simgrid:
      return simgrid;
  }
  return {};
}

/// Logs name libraries before or behind their algorithms.
std::string_view without_library(std::string_view name) {
  for (const std::string_view prefix : {"ompi_", "ucc_", "nccl_", "mpich_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  for (const std::string_view suffix : {"_ompi", "_over"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return name;
}

std::string_view our_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> others = {
      {{"neighbor", "neighbor_exchange"},
       {"ring_gloo", "ring"},
       {"segmented_ring", "ring_segmented"},
       {"scatter_allgather", "scatter_recursive_doubling"},
       {"scatter_allgather_ring", "scatter_ring"},
       {"pipeline", "chain"},
       {"split_binary_tree", "split_binary"}}};
  const auto found = std::find_if(others.begin(), others.end(),
                                  [&](const auto& other) { return other.first == name; });
  return found == others.end() ? name : found->second;
}

}  // namespace

std::optional<LibraryAlgorithm> counterpart(Library library, std::string_view collective,
                                            std::string_view algorithm) {
  const std::string_view name = our_name(without_library(algorithm));
  for (const LibraryAlgorithm& each : algorithms_of(library)) {
    if (each.collective == collective && each.ours == name) return each;
  }
  return std::nullopt;
}

std::string algorithms_known(Library library, std::string_view collective) {
  std::string names;
  for (const LibraryAlgorithm& each : algorithms_of(library)) {
    if (each.collective != collective) continue;
    names += (names.empty() ? "" : ", ") + std::string(each.ours);
  }
  return names;
}

}  // namespace tutti
