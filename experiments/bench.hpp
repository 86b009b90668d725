// bench: how long do collectives take between real processes on this machine?
#pragma once

#include <string>

#include "experiments/measure.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/rows.hpp"

namespace tutti {

struct BenchFlags {
  BenchFlags() { question.ranks = 4; }

  QuestionFlags question;
  Repetitions repetitions;
  bool check = true;
  std::string transport = "shm";
  double timeout_seconds = 30.0;
  Format format = Format::table;
  std::string trace;
};

/// Prints a row per size and algorithm. Returns whether all results were right.
bool bench(const BenchFlags& flags, Output& output);

/// Warns on stderr if `ranks` must share cores. Returns what to say about it, "" if they need not.
std::string warn_if_oversubscribed(int ranks);

/// What time means in a measurement, for headers.
std::string describe(const Repetitions& repetitions);

}  // namespace tutti
