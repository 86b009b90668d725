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
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "process/child.hpp"
#include "process/shared_memory.hpp"
#include "process/temporary_file.hpp"
#include "sim/outcome.hpp"
#include "sim/sim_observer.hpp"
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
};

SimWorld::SimWorld(Shape shape, int size, SimOptions options)
    : SimulatedWorld(shape, size, options),
      state_(std::make_unique<State>(State{std::move(shape), std::move(options)})) {
  if (state_->options.model == NetworkModel::exact) {
    throw Error(ErrorKind::usage,
                "SimGrid has no model exact, expected alpha_beta, window or lv08; the replay has");
  }
}

SimWorld::~SimWorld() = default;

std::byte* SimWorld::allocate(std::size_t bytes) {
  return state_->memory.allocate(bytes);
}

void SimWorld::run(const Program& program) {
  std::vector<double>& ends = end_seconds_;
  const SharedMapping shared_outcome(sizeof(Outcome), SharedMapping::Pages::reserved);
  const SharedMapping shared_ends(ends.size() * sizeof(double), SharedMapping::Pages::reserved);
  auto& outcome = *reinterpret_cast<Outcome*>(shared_outcome.data());
  const std::span<double> child_ends(reinterpret_cast<double*>(shared_ends.data()), ends.size());

  std::optional<TemporaryFile> observed;
  if (state_->options.observe != Observe::nothing) observed.emplace();

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
      Simulation(state_->shape, state_->options, outcome, child_ends,
                 observed ? &*observed : nullptr)
          .run(program);
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
  if (!observed) return;
  observation_ = read_observation(*observed);
  complete_observation(state_->shape, state_->options.observe);
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
      case NetworkModel::exact:
      case NetworkModel::lv08:
        break;
    }
    return "LV08, TCP slow start and window";
  };
  return fmt::format("SimGrid {}.{}, {}, {}", major, minor, model(state_->options.model),
                     describe_protocol(state_->options));
}

}  // namespace tutti
