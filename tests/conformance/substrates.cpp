#include "tests/conformance/substrates.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>

#include "collectives/plan.hpp"
#include "collectives/plan_check.hpp"
#include "tests/support/loopback_world.hpp"
#ifdef TUTTI_TEST_SIM
#include "sim/replay_world.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"
#endif
#ifdef TUTTI_TEST_SHM
#include "exec/fork_world.hpp"
#endif
#ifdef TUTTI_TEST_MPI
#include "tests/conformance/mpi_substrate.hpp"
#endif

namespace tutti {
namespace {

Substrate plan() {
  return {.name = "plan",
          .make = [](int size, WorldOptions options) -> std::unique_ptr<World> {
            return std::make_unique<PlanWorld>(size, options.lanes, options.seed);
          },
          .moves_data = false,
          .end_seconds =
              [](World& world) {
                return replay(dynamic_cast<PlanWorld&>(world).plan(),
                              CostModel{0.0, 0.0, gamma_seconds_per_byte});
              }};
}

Substrate loopback(std::string name, std::size_t eager_bytes) {
  return {.name = std::move(name),
          .make = [eager_bytes](int size, WorldOptions options) -> std::unique_ptr<World> {
            return std::make_unique<LoopbackWorld>(size, LoopbackOptions{.eager_bytes = eager_bytes,
                                                                         .lanes = options.lanes,
                                                                         .seed = options.seed});
          }};
}

#ifdef TUTTI_TEST_SIM
// Links so fast that only reductions take time worth speaking of.
template <typename Simulated>
Substrate sim(std::string name, SimOptions chosen) {
  return {.name = std::move(name),
          .make = [chosen](int size, WorldOptions options) -> std::unique_ptr<World> {
            SimOptions all = chosen;
            all.lanes = options.lanes;
            all.seed = options.seed;
            return std::make_unique<Simulated>(
                star_shape(size, 1e18, 1e-12, 1.0 / gamma_seconds_per_byte), size, all);
          },
          .end_seconds =
              [](World& world) { return dynamic_cast<SimulatedWorld&>(world).end_seconds(); }};
}
#endif

#ifdef TUTTI_TEST_SHM
Substrate forked(std::string name, Wire wire) {
  return {.name = std::move(name),
          .make = [wire](int size, WorldOptions options) -> std::unique_ptr<World> {
            return std::make_unique<ForkWorld>(
                size, ForkOptions{.lanes = options.lanes, .seed = options.seed, .wire = wire});
          }};
}
#endif

std::vector<Substrate> select(const std::function<bool(const Substrate&)>& wanted) {
  const std::vector<Substrate> all = all_substrates();
  std::vector<Substrate> selected;
  std::copy_if(all.begin(), all.end(), std::back_inserter(selected), wanted);
  return selected;
}

void write(Note& note, const std::exception& error) {
  note.set = true;
  std::snprintf(note.text, sizeof note.text, "%s", error.what());
}

}  // namespace

std::vector<Substrate> all_substrates() {
#ifdef TUTTI_TEST_MPI
  return {mpi_substrate()};
#endif
  return {
      plan(),
      loopback("loopback", 0),
      loopback("loopback_eager", std::size_t{1} << 16),
#ifdef TUTTI_TEST_SIM
      sim<SimWorld>("sim", {}),
      sim<SimWorld>("sim_eager", {.eager_bytes = std::size_t{1} << 16}),
      sim<ReplayWorld>("replay", {}),
      sim<ReplayWorld>("replay_exact", {.model = NetworkModel::exact}),
      sim<ReplayWorld>("replay_eager", {.eager_bytes = std::size_t{1} << 16}),
#endif
#ifdef TUTTI_TEST_SHM
      forked("shm", Wire::shm),
      forked("tcp", Wire::tcp),
#endif
  };
}

std::vector<Substrate> moving_substrates() {
  return select([](const Substrate& substrate) { return substrate.moves_data; });
}

std::vector<Substrate> virtual_time_substrates() {
  return select([](const Substrate& substrate) { return substrate.end_seconds != nullptr; });
}

void PrintTo(const Substrate& substrate, std::ostream* stream) {
  *stream << substrate.name;
}

std::string substrate_name(const testing::TestParamInfo<Substrate>& info) {
  return info.param.name;
}

Note* allocate_notes(World& world) {
  const auto count = static_cast<std::size_t>(world.size());
  auto* const notes = reinterpret_cast<Note*>(world.allocate(count * sizeof(Note)));
  std::uninitialized_default_construct_n(notes, count);
  return notes;
}

void note_error(Note& note, const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    write(note, error);
    note.kind = error.kind();
  } catch (const ContractError& error) {
    write(note, error);
    note.is_contract_error = true;
  }
}

Error error_of_run(World& world, const Program& program) {
  try {
    world.run(program);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "the run ended without an error";
  return Error(ErrorKind::usage, "no error");
}

Block own_block(std::vector<float>& storage) {
  return Block{reinterpret_cast<std::byte*>(storage.data()), storage.size(), DType::float32};
}

}  // namespace tutti
