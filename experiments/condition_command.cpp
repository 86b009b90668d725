#include <CLI/CLI.hpp>

#include "experiments/command.hpp"
#include "experiments/trial.hpp"

namespace tutti {

void add_conditions(CLI::App& app, ConditionFlags& flags) {
  app.add_option("--jitter", flags.jitters,
                 "WHAT=DISTRIBUTION:AMOUNT, such as start=exponential:20us; may come several times")
      ->allow_extra_args(false);
  app.add_option("--repetitions", flags.repetitions, "Runs over which the jitter is drawn")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "Of the jitter")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--groups", flags.groups,
                 "Disjoint groups of ranks that run it at once: 0-3,4-7, or with a stride "
                 "0-7:2,1-7:2, or 0+3+5,1+2+4");
  app.add_option("--repeat", flags.repeat,
                 "Collectives back to back, without a barrier between them; time is one's share")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--why", flags.why,
               "Also say why it takes that long: bounds, critical path, busiest links, a hint");
}

}  // namespace tutti
