#include "sim/replay_world.hpp"

#include <fmt/format.h>

#include <utility>

#include "process/shared_memory.hpp"
#include "sim/recorded_run.hpp"
#include "sim/recording.hpp"
#include "sim/replay.hpp"

namespace tutti {
namespace {

void check_supported(const Shape& shape, NetworkModel model) {
  if (model == NetworkModel::lv08) {
    throw Error(ErrorKind::usage,
                "the replay has no model lv08, expected alpha_beta, exact or window; SimGrid has");
  }
  if (shape.platform_file.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("the replay cannot simulate {}: only SimGrid knows what its platform "
                          "file means",
                          shape.name));
}

}  // namespace

struct ReplayWorld::State {
  Shape shape;
  SimOptions options;
  SharedArena memory = {};
  std::unique_ptr<StackPool> stacks = nullptr;
  std::size_t messages = 0;
  bool is_running = false;
};

ReplayWorld::ReplayWorld(Shape shape, int size, SimOptions options)
    : SimulatedWorld(shape, size, options),
      state_(std::make_unique<State>(State{std::move(shape), std::move(options)})) {
  check_supported(state_->shape, state_->options.model);
}

ReplayWorld::~ReplayWorld() = default;

std::byte* ReplayWorld::allocate(std::size_t bytes) {
  check(!state_->is_running, "{} bytes of memory are asked for inside a run, expected before it",
        bytes);
  return state_->memory.allocate(bytes);
}

namespace {

struct Running {
  explicit Running(bool& is_running) : flag(is_running) {
    check(!flag, "a world runs one program at a time");
    flag = true;
  }
  ~Running() { flag = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  bool& flag;
};

}  // namespace

void ReplayWorld::run(const Program& program) {
  State& state = *state_;
  const Running running(state.is_running);
  if (state.stacks == nullptr) {
    state.stacks = std::make_unique<StackPool>(static_cast<std::size_t>(size()));
  }
  state.stacks->reset();
  observation_ = {};
  const bool observes = state.options.observe != Observe::nothing;
  Replay replay(state.shape, state.options, size(), *state.stacks,
                observes ? &observation_ : nullptr);
  replay.run(program);
  replay.write_ends(end_seconds_);
  state.messages = replay.messages();
  if (observes) complete_observation(state.shape, state.options.observe);
}

void ReplayWorld::run_repeatable(const Program& program) {
  if (state_->options.observe != Observe::nothing || !run_recorded(program)) run(program);
}

bool ReplayWorld::run_recorded(const Program& program) {
  State& state = *state_;
  const Running running(state.is_running);
  Recording recording(state.shape, state.options, size());
  if (!recording.record(program)) return false;
  RecordedRun timed(recording, state.shape, state.options, size());
  if (!timed.run()) return false;
  timed.write_ends(end_seconds_);
  state.messages = timed.messages();
  observation_ = {};
  return true;
}

std::string ReplayWorld::describe() const {
  const auto model = [](NetworkModel chosen) {
    switch (chosen) {
      case NetworkModel::alpha_beta:
        return "links shared by flows, exact alpha-beta";
      case NetworkModel::window:
        return "links shared by flows, alpha-beta with a window of 4 MiB a flow";
      case NetworkModel::exact:
      case NetworkModel::lv08:
        break;
    }
    return "exact alpha-beta without contention";
  };
  return fmt::format("replay, {}, {}", model(state_->options.model),
                     describe_protocol(state_->options));
}

std::size_t ReplayWorld::messages() const {
  return state_->messages;
}

}  // namespace tutti
