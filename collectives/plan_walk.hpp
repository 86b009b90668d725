// Walks through a plan in an order in which it could be executed.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/plan.hpp"

namespace tutti {

/// A send and the receive that takes it; the pointers lead into the plan.
struct PlanMessage {
  const PlanProgram* sender = nullptr;
  const PlanProgram* receiver = nullptr;
  const PlanEvent* send = nullptr;
  const PlanEvent* recv = nullptr;
};

/// All messages, grouped by lane, sender and receiver, each group in order. Throws Error(mismatch)
/// unless the k-th send of every ordered pair has a k-th receive of the same call, count and dtype,
/// and the other way round.
std::vector<PlanMessage> match(const Plan& plan);

/// What is called back during a walk, once for each event of each program in program order.
/// `message` is an index into match()'s result, `is_send` says which end the program is.
class PlanVisitor {
 public:
  virtual ~PlanVisitor() = default;

  virtual void posted(std::size_t program, std::size_t message, bool is_send) = 0;

  /// A wait, after both ends have posted the message.
  virtual void finished(std::size_t program, std::size_t message, bool is_send) = 0;

  virtual void worked(std::size_t program, const PlanEvent& event) = 0;
};

/// Executes all programs as far as they go, each until it waits for a message that is not posted on
/// both ends. `messages` are match()'s. Throws Error(deadlock) that names who waits for whom if not
/// all reach their end. Cost: linear; a program is resumed only by the post it waits for.
void walk(const Plan& plan, const std::vector<PlanMessage>& messages, PlanVisitor& visitor);

}  // namespace tutti
