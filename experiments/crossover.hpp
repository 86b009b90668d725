// crossover: which algorithm is best at which size, and is the prediction true?
#pragma once

#include <string>

#include "experiments/cluster.hpp"
#include "experiments/measure.hpp"
#include "experiments/output.hpp"
#include "experiments/question.hpp"
#include "experiments/transport.hpp"

namespace tutti {

struct CrossoverFlags {
  CrossoverFlags() { question.algorithms.clear(); }

  QuestionFlags question;  ///< No algorithms: ring and tree for allreduce, else all.
  ClusterFlags cluster;
  std::string profile;   ///< A file, instead of a topology; "" is none.
  bool measure = false;  ///< Also between real processes, on a model of this machine.
  Repetitions repetitions;
  std::string transport = "shm";  ///< Of these.
  WorldFlags world;
  bool json = false;
  std::string trace;  ///< Of the simulated runs.
};

/// What is printed, for the command's --help.
extern const char* const crossover_help;

/// Prints the times, the winners and where they change.
void crossover(const CrossoverFlags& flags, Output& output);

}  // namespace tutti
