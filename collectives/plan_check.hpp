// Checks on plans: matching, deadlock, volume, depth and time, without running anything.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collectives/closed_form.hpp"
#include "collectives/plan.hpp"
#include "collectives/plan_walk.hpp"

namespace tutti {

/// Throws Error(mismatch) unless the k-th send of every ordered pair has a k-th receive of the same
/// call, count and dtype, and the other way round. Cost: linear in the events.
void check_matching(const Plan& plan);

/// What one rank moves.
struct PlanVolume {
  std::size_t bytes_sent = 0;
  std::size_t bytes_received = 0;
  std::size_t messages_sent = 0;
  std::size_t messages_received = 0;
  std::size_t bytes_reduced = 0;

  bool operator==(const PlanVolume&) const = default;
};

/// By rank, over all lanes.
std::vector<PlanVolume> volumes(const Plan& plan);

/// The time at which each rank ends, when every message is a rendezvous: it begins when both ends
/// have posted it and takes alpha + bytes beta, whatever else is under way. Posting a send keeps
/// its rank busy for the send overhead first. A receive that is waited for keeps it busy for the
/// receive overhead after the message, and for bytes gamma more if it reduces; a copy or scale
/// costs bytes gamma, too. Throws Error(deadlock) that names who waits for whom if the plan cannot
/// be executed. Cost: linear.
std::vector<double> replay(const Plan& plan, const CostModel& model);

/// When everything happens in replay(). The messages point into the plan.
struct Timeline {
  std::vector<PlanMessage> messages;  ///< As match() gives them.
  std::vector<double> begin_seconds;  ///< By message: when both ends have posted it.
  std::vector<double> end_seconds;    ///< By message, before the receiver's part.
  std::vector<double> rank_seconds;   ///< By rank: replay().
};

/// As replay(), with the time of every message.
Timeline timeline(const Plan& plan, const CostModel& model);

/// The largest of replay()'s times with alpha = 1 and nothing else.
int depth(const Plan& plan);

}  // namespace tutti
