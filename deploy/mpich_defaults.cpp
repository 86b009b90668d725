#include "deploy/mpich_defaults.hpp"

#include <array>

namespace tutti {
namespace {

constexpr std::array<MpichDefault, 44> defaults = {
    {{"allgather", "", "MPIR_Allgather_intra_ring", "", "MPIR_Allgather_allcomm_nb"},
     {"allgatherv", "", "MPIR_Allgatherv_intra_ring", "", "MPIR_Allgatherv_allcomm_nb"},
     {"allreduce", "", "MPIR_Allreduce_intra_recursive_doubling", "", "MPIR_Allreduce_allcomm_nb"},
     {"alltoall", "is_sendbuf_inplace", "MPIR_Alltoall_intra_pairwise_sendrecv_replace",
      "MPIR_Alltoall_intra_pairwise", "MPIR_Alltoall_allcomm_nb"},
     {"alltoallv", "is_sendbuf_inplace", "MPIR_Alltoallv_intra_pairwise_sendrecv_replace",
      "MPIR_Alltoallv_intra_scattered", "MPIR_Alltoallv_allcomm_nb"},
     {"alltoallw", "is_sendbuf_inplace", "MPIR_Alltoallw_intra_pairwise_sendrecv_replace",
      "MPIR_Alltoallw_intra_scattered", "MPIR_Alltoallw_allcomm_nb"},
     {"barrier", "", "MPIR_Barrier_intra_dissemination", "", "MPIR_Barrier_allcomm_nb"},
     {"bcast", "", "MPIR_Bcast_intra_binomial", "", "MPIR_Bcast_allcomm_nb"},
     {"exscan", "", "MPIR_Exscan_intra_recursive_doubling", "", ""},
     {"gather", "", "MPIR_Gather_intra_binomial", "", "MPIR_Gather_allcomm_nb"},
     {"gatherv", "", "MPIR_Gatherv_allcomm_linear", "", ""},
     {"iallgather", "", "MPIR_Iallgather_intra_sched_ring", "",
      "MPIR_Iallgather_inter_sched_local_gather_remote_bcast"},
     {"iallgatherv", "", "MPIR_Iallgatherv_intra_sched_ring", "",
      "MPIR_Iallgatherv_inter_sched_remote_gather_local_bcast"},
     {"iallreduce", "", "MPIR_Iallreduce_intra_sched_recursive_doubling", "",
      "MPIR_Iallreduce_inter_sched_remote_reduce_local_bcast"},
     {"ialltoall", "is_sendbuf_inplace", "MPIR_Ialltoall_intra_sched_inplace",
      "MPIR_Ialltoall_intra_sched_pairwise", "MPIR_Ialltoall_inter_sched_pairwise_exchange"},
     {"ialltoallv", "is_sendbuf_inplace", "MPIR_Ialltoallv_intra_sched_inplace",
      "MPIR_Ialltoallv_intra_sched_blocked", "MPIR_Ialltoallv_inter_sched_pairwise_exchange"},
     {"ialltoallw", "is_sendbuf_inplace", "MPIR_Ialltoallw_intra_sched_inplace",
      "MPIR_Ialltoallw_intra_sched_blocked", "MPIR_Ialltoallw_inter_sched_pairwise_exchange"},
     {"ibarrier", "", "MPIR_Ibarrier_intra_sched_recursive_doubling", "",
      "MPIR_Ibarrier_inter_sched_bcast"},
     {"ibcast", "", "MPIR_Ibcast_intra_sched_binomial", "", "MPIR_Ibcast_inter_sched_flat"},
     {"iexscan", "", "MPIR_Iexscan_intra_sched_recursive_doubling", "", ""},
     {"igather", "", "MPIR_Igather_intra_sched_binomial", "", "MPIR_Igather_inter_sched_long"},
     {"igatherv", "", "MPIR_Igatherv_allcomm_sched_linear", "", ""},
     {"ineighbor_allgather", "", "MPIR_Ineighbor_allgather_allcomm_sched_linear", "", ""},
     {"ineighbor_allgatherv", "", "MPIR_Ineighbor_allgatherv_allcomm_sched_linear", "", ""},
     {"ineighbor_alltoall", "", "MPIR_Ineighbor_alltoall_allcomm_sched_linear", "", ""},
     {"ineighbor_alltoallv", "", "MPIR_Ineighbor_alltoallv_allcomm_sched_linear", "", ""},
     {"ineighbor_alltoallw", "", "MPIR_Ineighbor_alltoallw_allcomm_sched_linear", "", ""},
     {"ireduce", "", "MPIR_Ireduce_intra_sched_binomial", "",
      "MPIR_Ireduce_inter_sched_local_reduce_remote_send"},
     {"ireduce_scatter", "is_commutative", "MPIR_Ireduce_scatter_intra_sched_pairwise",
      "MPIR_Ireduce_scatter_intra_sched_recursive_doubling",
      "MPIR_Ireduce_scatter_inter_sched_remote_reduce_local_scatterv"},
     {"ireduce_scatter_block", "is_commutative", "MPIR_Ireduce_scatter_block_intra_sched_pairwise",
      "MPIR_Ireduce_scatter_block_intra_sched_recursive_doubling",
      "MPIR_Ireduce_scatter_block_inter_sched_remote_reduce_local_scatterv"},
     {"iscan", "", "MPIR_Iscan_intra_sched_recursive_doubling", "", ""},
     {"iscatter", "", "MPIR_Iscatter_intra_sched_binomial", "", "MPIR_Iscatter_inter_sched_linear"},
     {"iscatterv", "", "MPIR_Iscatterv_allcomm_sched_linear", "", ""},
     {"neighbor_allgather", "", "MPIR_Neighbor_allgather_allcomm_nb", "", ""},
     {"neighbor_allgatherv", "", "MPIR_Neighbor_allgatherv_allcomm_nb", "", ""},
     {"neighbor_alltoall", "", "MPIR_Neighbor_alltoall_allcomm_nb", "", ""},
     {"neighbor_alltoallv", "", "MPIR_Neighbor_alltoallv_allcomm_nb", "", ""},
     {"neighbor_alltoallw", "", "MPIR_Neighbor_alltoallw_allcomm_nb", "", ""},
     {"reduce", "", "MPIR_Reduce_intra_binomial", "", "MPIR_Reduce_allcomm_nb"},
     {"reduce_scatter", "is_commutative", "MPIR_Reduce_scatter_intra_pairwise",
      "MPIR_Reduce_scatter_intra_recursive_doubling", "MPIR_Reduce_scatter_allcomm_nb"},
     {"reduce_scatter_block", "is_commutative", "MPIR_Reduce_scatter_block_intra_pairwise",
      "MPIR_Reduce_scatter_block_intra_recursive_doubling", "MPIR_Reduce_scatter_block_allcomm_nb"},
     {"scan", "", "MPIR_Scan_intra_recursive_doubling", "", ""},
     {"scatter", "", "MPIR_Scatter_intra_binomial", "", "MPIR_Scatter_allcomm_nb"},
     {"scatterv", "", "MPIR_Scatterv_allcomm_linear", "", ""}}};

}  // namespace

std::span<const MpichDefault> mpich_defaults() {
  return defaults;
}

}  // namespace tutti
