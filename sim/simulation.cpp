#include "sim/simulation.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xbt/log.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "sim/deadlock.hpp"
#include "sim/platform_shape.hpp"
#include "sim/shape_zone.hpp"
#include "sim/simgrid_compat.hpp"

namespace tutti {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* context_factory = "thread";
#else
constexpr const char* context_factory = "raw";
#endif
constexpr int stack_kibibytes = 1024;
constexpr std::size_t most_guarded_ranks = 16'384;
constexpr double timing_precision_seconds = 1e-15;

/// Before the engine exists. Failures are reported through the outcome, not SimGrid's log.
std::string silence() {
  xbt_log_control_set("root.thresh:critical root.app:file:/dev/null");
  simgrid::s4u::Engine::set_config("contexts/factory", std::string(context_factory));
  return "tutti";
}

/// After the engine and before the platform exists.
void configure(NetworkModel model, std::size_t ranks) {
  using simgrid::s4u::Engine;
  Engine::set_config("contexts/stack-size", stack_kibibytes);
  // A guard page makes two mappings of a stack, and the kernel allows a process 65,530.
  if (ranks > most_guarded_ranks) Engine::set_config("contexts/guard-size", 0);
  Engine::set_config(simgrid_compat::timing_precision_key, timing_precision_seconds);
  // A platform file may ask for a trace, which would be written wherever the command runs.
  Engine::set_config("tracing", false);
  if (model == NetworkModel::lv08) return;
  Engine::set_config("network/model", std::string("CM02"));
  Engine::set_config("network/crosstraffic", false);
  Engine::set_config("network/latency-factor", 1.0);
  Engine::set_config("network/bandwidth-factor", 1.0);
  Engine::set_config("network/weight-S", 0.0);
  // SimGrid lets a flow have this much a round trip.
  Engine::set_config("network/TCP-gamma", model == NetworkModel::window ? window_bytes : 1e300);
}

/// Ends the process at once: the engine's and the caller's destructors have nothing to say here.
[[noreturn]] void leave() {
  std::cout.flush();
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace

Simulation::Simulation(const Shape& shape, const SimOptions& options, Outcome& outcome,
                       std::span<double> end_seconds, const TemporaryFile* observed)
    : shape_(shape),
      outcome_(outcome),
      end_seconds_(end_seconds),
      streams_(static_cast<int>(end_seconds.size()), options.eager_bytes),
      engine_(silence()) {
  if (observed != nullptr) {
    streams_.set_observer(&observer_.emplace(options.eager_bytes, *observed));
  }
  configure(options.model, end_seconds.size());
  build_platform();
  set_overheads();
  const int size = static_cast<int>(end_seconds.size());
  for (int rank = 0; rank < size; ++rank) {
    const Host& host = shape.hosts[static_cast<std::size_t>(shape.host_of(rank))];
    ranks_.push_back(std::make_unique<SimRank>(
        streams_, rank, size, options, host,
        [this](int failed, std::exception_ptr failure) { fail(failed, std::move(failure)); }));
  }
}

void Simulation::build_platform() {
  const int size = static_cast<int>(end_seconds_.size());
  if (shape_.platform_file.empty()) {
    const ShapeZone& zone = ShapeZone::create(shape_, end_seconds_.size());
    for (int rank = 0; rank < size; ++rank) hosts_.push_back(zone.host_of(rank));
    return;
  }
  engine_.load_platform(shape_.platform_file);
  connect_wireless_hosts(engine_);
  for (int rank = 0; rank < size; ++rank) {
    const auto host = static_cast<std::size_t>(shape_.host_of(rank));
    hosts_.push_back(engine_.host_by_name(shape_.hosts[host].name));
  }
}

void Simulation::set_overheads() {
  const auto has_overhead = [](const Link& link) { return link.overhead_seconds > 0.0; };
  if (std::none_of(shape_.links.begin(), shape_.links.end(), has_overhead)) return;
  streams_.set_overheads([this](int from, int to) -> std::size_t {
    return shape_.overhead_bytes(shape_.route_of_ranks(from, to));
  });
}

void Simulation::run(const Program& program) {
  std::vector<simgrid::s4u::ActorPtr> actors;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    actors.push_back(simgrid_compat::create_actor(fmt::format("rank-{}", rank), hosts_[rank],
                                                  [&, rank] { ranks_[rank]->run(program); }));
  }
  streams_.set_receivers(std::move(actors));
  simgrid::s4u::Engine::on_deadlock_cb([this] { report_deadlock(); });
  try {
    engine_.run();
    check_end();
    if (observer_) observer_->write();
  } catch (...) {
    fail(-1, std::current_exception());
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    end_seconds_[rank] = ranks_[rank]->end_seconds().value();
  }
  outcome_.status = Outcome::Status::success;
  leave();
}

void Simulation::fail(int rank, std::exception_ptr failure) {
  outcome_.record(rank, std::move(failure));
  leave();
}

void Simulation::check_end() const {
  for (const auto& rank : ranks_) {
    if (rank->is_killed()) throw killed(rank->index());
  }
  streams_.check_all_received();
}

void Simulation::report_deadlock() {
  std::vector<RankState> states;
  for (const auto& rank : ranks_) states.push_back(rank->state());
  fail(-1, std::make_exception_ptr(describe_deadlock(states)));
}

}  // namespace tutti
