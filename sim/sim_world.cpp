#include "sim/sim_world.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <span>
#include <system_error>
#include <utility>

#include "process/child.hpp"
#include "process/shared_memory.hpp"
#include "sim/outcome.hpp"
#include "sim/simgrid_compat.hpp"
#include "sim/simulation.hpp"

namespace tutti {
namespace {

/// Returns how the process ended, for people.
std::string reap(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return fmt::format("could not be waited for: {}", std::generic_category().message(errno));
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

struct SimWorld::State {
  Shape shape;
  SimOptions options;
  SharedArena memory = {};
  std::vector<double> end_seconds = {};
};

SimWorld::SimWorld(Shape shape, int size, SimOptions options)
    : World(size, options.lanes),
      state_(std::make_unique<State>(State{std::move(shape), options})) {
  if (size < 1 || size > state_->shape.size()) {
    throw Error(ErrorKind::usage, fmt::format("{} ranks on {}, which has room for {}", size,
                                              state_->shape.name, state_->shape.size()));
  }
  check(options.lanes >= 1, "a world of {} lanes, expected at least one", options.lanes);
  state_->end_seconds.resize(static_cast<std::size_t>(size));
}

SimWorld::~SimWorld() = default;

std::byte* SimWorld::allocate(std::size_t bytes) {
  return state_->memory.allocate(bytes);
}

void SimWorld::run(const Program& program) {
  std::vector<double>& ends = state_->end_seconds;
  const SharedMapping shared_outcome(sizeof(Outcome), SharedMapping::Pages::reserved);
  const SharedMapping shared_ends(ends.size() * sizeof(double), SharedMapping::Pages::reserved);
  auto& outcome = *reinterpret_cast<Outcome*>(shared_outcome.data());
  const std::span<double> child_ends(reinterpret_cast<double*>(shared_ends.data()), ends.size());

  // What is buffered now must not be written by both processes.
  std::cout.flush();
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw Error(ErrorKind::system, fmt::format("cannot fork a process for the simulation: {}",
                                               std::generic_category().message(errno)));
  }
  if (child == 0) {
    die_with_parent(parent);
    try {
      Simulation(state_->shape, state_->options, outcome, child_ends).run(program);
    } catch (...) {
      outcome.record(-1, std::current_exception());
    }
    _exit(1);
  }
  const std::string ending = reap(child);
  outcome.rethrow();
  if (outcome.status != Outcome::Status::success) {
    throw Error(ErrorKind::system,
                fmt::format("the process of the simulation {} before the ranks did", ending));
  }
  ends.assign(child_ends.begin(), child_ends.end());
}

const std::vector<double>& SimWorld::end_seconds() const {
  return state_->end_seconds;
}

double SimWorld::seconds() const {
  return *std::max_element(state_->end_seconds.begin(), state_->end_seconds.end());
}

std::string SimWorld::describe() const {
  int major = 0, minor = 0, patch = 0;
  sg_version_get(&major, &minor, &patch);
  const auto model = [](NetworkModel chosen) {
    switch (chosen) {
      case NetworkModel::alpha_beta:
        return "CM02, exact alpha-beta";
      case NetworkModel::window:
        return "CM02, alpha-beta with a window of 4 MiB a flow";
      case NetworkModel::lv08:
        break;
    }
    return "LV08, TCP slow start and window";
  };
  const std::string protocol =
      state_->options.eager_bytes == 0
          ? "rendezvous"
          : fmt::format("eager up to {} bytes", state_->options.eager_bytes);
  return fmt::format("SimGrid {}.{}, {}, {}", major, minor, model(state_->options.model), protocol);
}

NetworkModel parse_network_model(const std::string& name) {
  if (name == "alpha_beta") return NetworkModel::alpha_beta;
  if (name == "window") return NetworkModel::window;
  if (name == "lv08") return NetworkModel::lv08;
  throw Error(ErrorKind::usage,
              fmt::format("unknown network model '{}', expected alpha_beta, window or lv08", name));
}

}  // namespace tutti
