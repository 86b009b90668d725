#include "collectives/faulty.hpp"

#include <random>
#include <utility>

namespace tutti {

Faulty::Faulty(Channel& inner, std::vector<Fault> faults, Act act)
    : Decorator(inner), faults_(std::move(faults)), act_(std::move(act)) {}

void Faulty::count_message() {
  const std::uint64_t message = posted_++;
  for (const Fault& fault : faults_) {
    if (fault.message == message) act_(fault);
  }
}

Request Faulty::post_send(int to, Block block) {
  count_message();
  return inner().isend(to, block);
}

Request Faulty::post_recv(int from, Block block, Op op) {
  count_message();
  return inner().irecv(from, block, op);
}

std::vector<Fault> random_delays(std::uint64_t seed, int count, std::uint64_t messages,
                                 double longest_seconds) {
  check(messages > 0 || count == 0, "random_delays: {} delays among no messages", count);
  // The engine's output is specified by the standard, the distributions' is not.
  std::mt19937_64 random(seed);
  std::vector<Fault> faults;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t message = random() % messages;
    const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
    faults.push_back({Fault::Kind::delay, message, fraction * longest_seconds});
  }
  return faults;
}

}  // namespace tutti
