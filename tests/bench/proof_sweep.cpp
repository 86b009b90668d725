// Times the proof of every algorithm over the whole sweep: proof_sweep [NAME...], such as
// allreduce_ring; all without names.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "tests/collectives/proof_cases.hpp"

namespace {

using namespace tutti;
using Clock = std::chrono::steady_clock;

struct Total {
  std::size_t plans = 0;
  std::size_t events = 0;
  double record_seconds = 0.0;
  double prove_seconds = 0.0;

  double seconds() const { return record_seconds + prove_seconds; }

  Total& operator+=(const Total& other) {
    plans += other.plans;
    events += other.events;
    record_seconds += other.record_seconds;
    prove_seconds += other.prove_seconds;
    return *this;
  }
};

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

Total sweep(const Algorithm& algorithm) {
  Total total;
  for (const int ranks : proof_ranks()) {
    for (const ProofCase& proof_case : proof_cases(algorithm, ranks)) {
      const Clock::time_point begin = Clock::now();
      const Plan plan = plan_to_prove(algorithm, proof_case);
      const Clock::time_point recorded = Clock::now();
      prove(plan, promise_of(algorithm, proof_case));
      ++total.plans;
      for (const PlanProgram& program : plan.programs) total.events += program.events.size();
      total.record_seconds += seconds_between(begin, recorded);
      total.prove_seconds += seconds_between(recorded, Clock::now());
    }
  }
  return total;
}

void print(std::string_view name, const Total& total) {
  fmt::print("{:<38} {:>7} {:>11} {:>9.2f} {:>9.2f} {:>9.2f}\n", name, total.plans, total.events,
             total.record_seconds, total.prove_seconds, total.seconds());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> names(argv + 1, argv + argc);
  fmt::print("# one thread; seconds by the wall clock\n{:<38} {:>7} {:>11} {:>9} {:>9} {:>9}\n",
             "# algorithm", "plans", "events", "record", "prove", "total");
  try {
    Total all;
    for (const Algorithm& algorithm : catalogue()) {
      if (!names.empty() &&
          std::find(names.begin(), names.end(), algorithm.full_name) == names.end()) {
        continue;
      }
      const Total total = sweep(algorithm);
      print(algorithm.full_name, total);
      all += total;
    }
    print("# all", all);
  } catch (const std::exception& error) {
    fmt::print(stderr, "proof_sweep: {}\n", error.what());
    return 1;
  }
  return 0;
}
