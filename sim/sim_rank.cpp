#include "sim/sim_rank.hpp"

#include <simgrid/Exception.hpp>

#include <utility>

#include "sim/simgrid_compat.hpp"

namespace tutti {
namespace {

double start_of(const SimOptions& options, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  return index < options.start_seconds.size() ? options.start_seconds[index] : 0.0;
}

}  // namespace

SimRank::SimRank(SimStreams& streams, int index, int size, const SimOptions& options,
                 const Host& host, Fail fail)
    : SimulatedRank(index, size, options.seed),
      streams_(streams),
      costs_(local_costs_of(host)),
      start_seconds_(start_of(options, index)),
      fail_(std::move(fail)),
      channels_(static_cast<std::size_t>(options.lanes)) {}

Channel& SimRank::channel(int lane) {
  const int lanes = static_cast<int>(channels_.size());
  check(lane >= 0 && lane < lanes, "rank {} has no lane {}, the world has {}", index(), lane,
        lanes);
  auto& channel = channels_[static_cast<std::size_t>(lane)];
  if (channel == nullptr) {
    channel = std::make_unique<SimChannel>(streams_, index(), size(), lane, costs_);
  }
  return *channel;
}

void SimRank::spawn(std::function<void()> task) {
  actors_.push_back(simgrid_compat::create_actor(
      fmt::format("rank-{}-task-{}", index(), actors_.size()), simgrid::s4u::this_actor::get_host(),
      [this, task = std::move(task)] { guard(task); }));
}

void SimRank::run(const Program& program) {
  actors_.push_back(simgrid::s4u::Actor::self());
  guard([&] {
    if (start_seconds_ > 0.0) simgrid::s4u::this_actor::sleep_for(start_seconds_);
    program(*this);
    // A task may spawn further ones while it is joined.
    for (std::size_t task = 1; task < actors_.size(); ++task) {
      const simgrid::s4u::ActorPtr actor = actors_[task];
      actor->join();
    }
    for (const auto& channel : channels_) {
      if (channel != nullptr) channel->check_closed();
    }
    end_seconds_ = simgrid::s4u::Engine::get_clock();
  });
}

void SimRank::kill() {
  killed_ = true;
  for (const simgrid::s4u::ActorPtr& actor : actors_) {
    if (actor.get() != simgrid::s4u::Actor::self()) actor->kill();
  }
  simgrid::s4u::this_actor::exit();
}

void SimRank::stall() {
  stalled_ = true;
  simgrid::s4u::this_actor::suspend();
}

RankState SimRank::state() const {
  RankState state{
      .has_ended = end_seconds_.has_value(), .is_killed = killed_, .is_stalled = stalled_};
  for (const auto& channel : channels_) {
    if (channel == nullptr) continue;
    if (auto wait = channel->waits_for()) state.waits.push_back(std::move(*wait));
  }
  return state;
}

void SimRank::guard(const std::function<void()>& code) const {
  try {
    code();
  } catch (const simgrid::ForcefulKillException&) {
    throw;  // SimGrid ends an actor with it.
  } catch (...) {
    fail_(index(), std::current_exception());
  }
}

}  // namespace tutti
