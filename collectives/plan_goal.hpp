// GOAL: plans in the text format of LogGOPSim and ATLAHS.
#pragma once

#include <string>
#include <string_view>

#include "collectives/closed_form.hpp"
#include "collectives/plan.hpp"

namespace tutti {

/// The plan as GOAL text (src/LogGOPSim/txt2bin.re): what a rank has waited for is what its later
/// messages require; a message behind which no wait was needed irequires the one posted before it,
/// so that the order of posting survives. One block a rank; a lane becomes a tag and a cpu. GOAL
/// knows bytes only, so types, addresses and reductions are lost. Work takes its time as `calc`, in
/// whole nanoseconds: Work::compute always, reductions, copies and scaling where gamma is not 0.
/// Cost: linear.
std::string to_goal(const Plan& plan, double gamma_seconds_per_byte = 0.0);

/// A plan of ghost messages of uint8 with the text's messages. Throws Error(usage) "line N: what
/// was found, what was expected" for text that is no GOAL, Error(mismatch) for messages that do not
/// match, Error(deadlock) for what waits for itself.
///
/// GOAL has a graph of dependencies per rank, a plan one sequence. The graph is executed once with
/// `model` but its overheads (messages are rendezvous as in replay(), those of a pair stay in
/// order; a calc keeps its rank busy), and each rank posts its messages in the order of that
/// execution, as soon as what they require has been waited for, and waits for no more than that.
/// Hence:
///
/// * a plan has every dependency of the text, and executes on every substrate;
/// * where the text's order of posts is forced by dependencies, as that of to_goal() is, nothing
///   else is in the plan either: export and import give the same messages and replay times;
/// * otherwise a rank reacts to independent messages in the order in which they complete under
///   `model`, not in whatever order another model or network would complete them.
///
/// Receives from any source or of any tag take the first message that is there under `model`; where
/// the two ends of a pair use tags in different orders, they post in the order of matching. Cpus
/// and nics are read and ignored. A message of 0 bytes becomes one of 1, since empty blocks travel
/// nowhere. Cost: n log n, memory linear in the text.
Plan parse_goal(std::string_view text,
                const CostModel& model = {.alpha_seconds = 5e-6, .beta_seconds_per_byte = 8e-11});

}  // namespace tutti
