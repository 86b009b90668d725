#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "experiments/calibrate.hpp"
#include "experiments/command.hpp"
#include "experiments/validate.hpp"

namespace tutti {
namespace {

constexpr auto calibrate_help = R"(
Measures what messages and local work take between real processes, for each number of ranks: of 8 B
up to the buffer's size, in buffers of 64 B up to --largest, through which every rank works as in a
ring, sending next what it has just received. Small messages are timed in chains of 32. Before each
round every rank writes its buffer anew. Times are medians of the slowest rank's, with 90 %
intervals (bootstrap, --seed).
  sent            the sender's own time while the receiver is late, 0 where it has to wait for it
  alone           ranks 0 and 1 send to and fro, the others sleep
  loaded          all ranks at once send to the next
  loaded_shared   the same, into memory that another rank has read since it was written, which takes
                  longer: the caches of the cores have to agree who may write
  reduced         as loaded, summed up with what is there
  reduced_shared  the same, into memory that another rank has read
  copied          local copies by all ranks at once
  combined        local reductions by all ranks at once
  call            what a collective takes besides
  gap             between two of many small messages from one rank to another
  rendezvous      the smallest message whose sender is kept waiting by a late receiver
All is measured in two passes, of which the faster counts, since whatever else the machine does only
slows it down; where they typically differ by more than 15 %, a warning and the profile say that it
is not to be trusted. Takes 10 to 60 seconds.

Straight lines through whole messages (comments of the profile, fits of --json) show latency and
bandwidth; steps between them, such as that to rendezvous, are found by the Bayesian information
criterion, slopes have 90 % intervals. Predictions use the points themselves.

Profiles are for tutti crossover --profile.

Examples:
  tutti calibrate -o shm.yaml
  tutti calibrate --transport tcp --ranks 2,4 -o tcp.yaml
  mpirun -n 4 tutti calibrate -o mpi.yaml
)";

constexpr auto validate_help = R"(
Compares what a profile predicts with what is measured: for each transport and number of ranks it
calibrates, times all algorithms of allreduce, broadcast, allgather and reduce_scatter, and predicts
the same. Before each timed call every rank writes its buffer anew, as a training step leaves it,
then comes a barrier that is not timed; up to 4 KiB 16 calls follow each other, and the prediction
is of as many. The time is the slowest rank's; medians.
  error       |predicted / measured - 1|
  crossover   where the fastest algorithm changes, if by 10 % on both sides, and where the predicted
              times of the two cross
  regret      how much longer the predicted best takes than the measured best
  right       how often the two are the same, or within 2 %
Exit code 0 also where a target is missed, which the last lines say.

Examples:
  tutti validate
  tutti validate --transport shm --ranks 2 --quick
  tutti validate --json
)";

}  // namespace

Command add_calibrate(CLI::App& app) {
  const auto flags = std::make_shared<CalibrateFlags>();
  app.add_option("--transport", flags->transport, "shm or tcp; under mpirun mpi")
      ->capture_default_str();
  app.add_option("--ranks", flags->ranks, "Numbers of ranks, comma-separated (default: 2,4,8)")
      ->delimiter(',');
  app.add_option("-d,--dtype", flags->dtype, "Element type of reductions")->capture_default_str();
  app.add_option("--largest", flags->largest, "Of the buffers (binary K, M, G)")
      ->capture_default_str();
  app.add_option("--rounds", flags->rounds, "Of each pattern in each pass")
      ->check(CLI::Range(2, 10'000))
      ->capture_default_str();
  app.add_option("--seed", flags->seed, "Of the confidence intervals")->capture_default_str();
  app.add_option("-o,--output", flags->file, "The profile's file (default: printed)");
  app.add_flag("--json", flags->json, "Print JSON");
  app.footer(std::string(calibrate_help) + exit_codes);
  return [flags](Output& output) {
    calibrate(*flags, output);
    return true;
  };
}

Command add_validate(CLI::App& app) {
  const auto flags = std::make_shared<ValidateFlags>();
  app.add_option("--transport", flags->transports, "shm, tcp, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--ranks", flags->ranks, "Numbers of ranks, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--collective", flags->collectives, "Collectives, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--quick", flags->quick, "Fewer sizes, up to 1 MiB");
  app.add_flag("--rows", flags->rows, "Also print every time");
  app.add_flag("--json", flags->json, "Print JSON");
  app.footer(std::string(validate_help) + exit_codes);
  return [flags](Output& output) {
    validate(*flags, output);
    return true;
  };
}

}  // namespace tutti
