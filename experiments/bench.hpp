// bench: how long do collectives take between real processes?
#pragma once

#include <string>

#include "experiments/measure.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/rows.hpp"
#include "experiments/transport.hpp"

namespace tutti {

struct BenchFlags {
  BenchFlags() { question.ranks = default_ranks(); }

  QuestionFlags question;
  Repetitions repetitions;
  bool check = true;
  std::string transport = default_transport();
  WorldFlags world;
  Format format = Format::table;
  std::string trace;
  bool stragglers = false;  ///< Tell who waited for whom; only in a table.
};

/// Prints a row per size and algorithm. Returns whether all results were right.
bool bench(const BenchFlags& flags, Output& output);

/// Warns on stderr if `ranks`, all on this machine, must share cores. Returns what to say about it,
/// "" if they need not.
std::string warn_if_oversubscribed(int ranks);

/// What time means in a measurement, for headers.
std::string describe(const Repetitions& repetitions);

}  // namespace tutti
