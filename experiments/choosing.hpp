// Choosing on the command line: what `--algo auto` takes, and what TUTTI_ALGO and --rules say.
#pragma once

#include <string>

#include "collectives/choose.hpp"
#include "collectives/world.hpp"
#include "experiments/question.hpp"

namespace tutti {

/// For the commands' --help.
extern const char* const auto_help;

/// The environment variable that forces algorithms: "allreduce:ring;broadcast:binomial".
inline constexpr const char* force_variable = "TUTTI_ALGO";

/// The rules of TUTTI_ALGO, then those of the file. None, and TUTTI_ALGO is not read, where the
/// flags name algorithms without auto. Throws Error(usage) for what cannot be understood and for a
/// file of rules that nothing would follow, Error(system) for one that cannot be read.
Rules load_rules(const QuestionFlags& flags);

/// As ask(), but where no algorithms are named, a rule for the collective makes it automatic.
Question ask(const QuestionFlags& flags, int ranks, const Rules& rules);

/// What messages cost between the ranks of a real world, fitted to a measurement of about a second
/// with all ranks busy. All zero for one rank.
CostProfile measure_profile(World& world, DType dtype, Op op, std::size_t largest_bytes);

/// "alpha 2.10 us, beta 0.0850 ns/B, gamma 0.1000 ns/B", and the same within groups; for headers.
std::string describe(const CostProfile& profile);

/// The question's jobs of `count` elements: the automatic one first, then those by name. Throws
/// Error(usage) where a rule asks for what its algorithm does not support.
std::vector<Job> jobs_of(const Question& question, std::size_t count, const CostProfile& profile,
                         const Rules& rules);

}  // namespace tutti
