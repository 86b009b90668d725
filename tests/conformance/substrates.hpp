// The substrates that the conformance suite runs on, and what its tests share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "collectives/world.hpp"

namespace tutti {

struct WorldOptions {
  int lanes = 1;
  std::uint64_t seed = 0;
};

/// One way to run ranks. To put another substrate through the suite, add it to substrates.cpp.
struct Substrate {
  std::string name;
  std::function<std::unique_ptr<World>(int size, WorldOptions options)> make;

  /// False for the plan, which records messages but moves none.
  bool moves_data = true;

  /// When each rank ended in the last run, where a byte takes `gamma_seconds_per_byte` to reduce
  /// and messages take next to no time; null for substrates whose clock is the wall's.
  std::function<std::vector<double>(World& world)> end_seconds = nullptr;
};

/// Of substrates whose clock is virtual: what a byte takes to reduce.
inline constexpr double gamma_seconds_per_byte = 1e-9;

/// All of them; those that move data; those whose clock is virtual.
std::vector<Substrate> all_substrates();
std::vector<Substrate> moving_substrates();
std::vector<Substrate> virtual_time_substrates();

void PrintTo(const Substrate& substrate, std::ostream* stream);

/// Tests of one substrate each.
class SubstrateTest : public testing::TestWithParam<Substrate> {
 protected:
  std::unique_ptr<World> make(int size, WorldOptions options = {}) const {
    return GetParam().make(size, options);
  }
};

/// Names the instances of a suite after their substrates.
std::string substrate_name(const testing::TestParamInfo<Substrate>& info);

/// What a rank observed, in memory that the test sees: ranks may be processes, whose own
/// expectations nobody would hear of.
struct Note {
  bool set = false;
  bool is_contract_error = false;
  ErrorKind kind = ErrorKind::usage;
  char text[1000] = {};
};

/// A note for each rank, in the world's memory.
Note* allocate_notes(World& world);

/// Runs `action` and writes down what it threw; rethrows nothing.
void note_error(Note& note, const std::function<void()>& action);

/// The error of world.run(program); fails the test and returns a usage error if there is none.
Error error_of_run(World& world, const Program& program);

/// A block of float32 of the rank's own memory, which lives as long as `storage`.
Block own_block(std::vector<float>& storage);

/// A size without memory.
inline Block ghost(std::size_t count, DType dtype = DType::float32) {
  return Block{nullptr, count, dtype};
}

}  // namespace tutti
