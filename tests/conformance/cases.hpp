// A collective with the blocks of all its ranks, as the conformance suite runs it.
#pragma once

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/world.hpp"

namespace tutti {

/// Those of the catalogue that `ranks` ranks can run.
std::vector<const Algorithm*> supported_algorithms(int ranks);

/// `count`, for alltoall rounded up to equal parts.
std::size_t supported_count(const Algorithm& algorithm, std::size_t count, int ranks);

/// What is to be run.
struct CaseSpec {
  const Algorithm* algorithm = nullptr;
  std::size_t count = 0;  ///< Of the whole buffer.
  DType dtype = DType::float32;
  Op op = Op::sum;
  int root = 0;
  bool in_place = false;
  Tuning tuning = {};

  /// For example "allreduce_ring of 37 float32, op sum, root 0, in place".
  std::string describe() const;
};

/// A spec with a block per rank in a world's memory; the two are the same in place.
struct Case {
  CaseSpec spec;
  std::vector<Block> inputs;
  std::vector<Block> outputs;
};

Case allocate_case(World& world, const CaseSpec& spec);

/// Fills every rank's input in the order of the ranks: the same seed, the same data in every world.
void fill_inputs(const Case& filled, const std::function<void(Block, std::mt19937_64&)>& fill,
                 std::mt19937_64& random);

/// Runs it on one rank.
void run_case(const Case& run, Channel& channel);

/// Runs all of them, one after another, on every rank.
void run_cases(World& world, const std::vector<Case>& cases);

/// What `rank` has got, without what the collective leaves unspecified; empty where it gets
/// nothing.
Block result_of(const Case& done, int rank);

/// True where all ranks get the same elements.
bool is_same_everywhere(Collective collective);

}  // namespace tutti
