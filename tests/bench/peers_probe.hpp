// A bare collective on mapped memory, without messages, checks or errors: what the machine can do.
#pragma once

#include <cstddef>

#include "collectives/catalogue.hpp"

namespace tutti {

/// Collectives of float32 sums, in place on buffers that all ranks have mapped. Each rank makes
/// one. Small ones cost one wave of flags, large ones two: every rank reduces its own part of all
/// buffers, then copies the others' parts.
class Probe {
 public:
  /// What the ranks share, zeroed: `bytes_for(ranks)` bytes.
  static std::size_t bytes_for(int ranks);

  /// Rank r's buffer lies at data + r * stride_bytes. `yields` gives the processor away while
  /// waiting.
  Probe(int rank, int ranks, std::byte* shared, std::byte* data, std::size_t stride_bytes,
        bool yields);

  /// allreduce, broadcast from rank 0, allgather or reduce_scatter of `count` elements. Of a count
  /// that the ranks do not divide, the last part has the rest.
  void run(Collective collective, std::size_t count);

 private:
  struct Range {
    std::size_t begin, end;
  };
  float* buffer(int rank) const;
  float* staged(int rank) const;
  Range part(int rank, std::size_t count) const;
  void raise_flag();
  void wait_for_flag(int rank) const;
  void barrier();
  void allreduce_small(std::size_t count);
  void reduce_own(std::size_t count);
  void copy_others(std::size_t count);

  const int rank_, ranks_;
  std::byte* const shared_;
  std::byte* const data_;
  const std::size_t stride_bytes_;
  const bool yields_;
  std::size_t wave_ = 0;
};

}  // namespace tutti
