// Building blocks of the closed forms in the catalogue's entries. An empty buffer travels nowhere
// and costs nothing.
#pragma once

#include <cstddef>
#include <string_view>

#include "collectives/block.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/closed_form.hpp"

namespace tutti {

inline double message_seconds(std::size_t bytes, const CostModel& model) {
  return model.alpha_seconds + static_cast<double>(bytes) * model.beta_seconds_per_byte;
}

inline double reduction_seconds(std::size_t bytes, const CostModel& model) {
  return static_cast<double>(bytes) * model.gamma_seconds_per_byte;
}

inline int steps_unless_empty(const Problem& problem, int steps) {
  return problem.count == 0 ? 0 : steps;
}

/// `hops` messages one after the other, each of `bytes`, `folds` of which are reduced.
inline double chain_seconds(int hops, int folds, std::size_t bytes, const CostModel& model) {
  if (bytes == 0) return 0.0;
  return hops * message_seconds(bytes, model) + folds * reduction_seconds(bytes, model);
}

/// A ghost of the buffer; any dtype of that size is divided in the same way.
inline Block ghost_of(const Problem& problem) {
  const DType dtype = problem.element_bytes == 8   ? DType::int64
                      : problem.element_bytes == 4 ? DType::int32
                      : problem.element_bytes == 2 ? DType::float16
                                                   : DType::int8;
  return Block{nullptr, problem.count, dtype};
}

/// Bytes of one part of the buffer.
inline std::size_t part_bytes(const Problem& problem, int index, Partition partition) {
  return ghost_of(problem).part(index, problem.ranks, partition).bytes();
}

/// The first part is the largest, and the chain of messages that carries it is the longest.
inline std::size_t largest_part_bytes(const Problem& problem, Partition partition) {
  return part_bytes(problem, 0, partition);
}

/// `messages` one after the other that carry `bytes` in total, which is not zero unless there is
/// nothing to send.
inline double messages_seconds(int messages, std::size_t bytes, const CostModel& model) {
  if (bytes == 0) return 0.0;
  return messages * model.alpha_seconds + static_cast<double>(bytes) * model.beta_seconds_per_byte;
}

/// The bytes of all parts but one, each rounded up to the largest.
inline std::size_t other_parts_bytes(const Problem& problem) {
  return static_cast<std::size_t>(problem.ranks - 1) *
         largest_part_bytes(problem, Partition::balanced);
}

/// True where all ranks have parts of the same size.
inline bool has_equal_parts(const Problem& problem) {
  return problem.count % static_cast<std::size_t>(problem.ranks) == 0;
}

/// Where an alltoall of equal parts can run: what rank i has for rank j is as much as rank j
/// expects.
inline constexpr std::string_view alltoall_supported = "any N that divides the count, or counts";

constexpr Form always_bound(const Problem&) {
  return Form::bound;
}

inline Form exact_for_equal_parts(const Problem& problem) {
  return has_equal_parts(problem) ? Form::exact : Form::bound;
}

}  // namespace tutti
