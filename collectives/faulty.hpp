// Faulty: makes a rank late, stuck or dead at chosen messages, reproducibly.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "collectives/decorator.hpp"

namespace tutti {

/// One fault, before the `message`-th message (from 0, sends and receives counted as posted).
struct Fault {
  enum class Kind : std::uint8_t {
    delay,  ///< The rank pauses for `seconds`.
    stall,  ///< The rank never goes on.
    kill,   ///< The rank ends without a word.
  };

  Kind kind = Kind::delay;
  std::uint64_t message = 0;
  double seconds = 0.0;
};

/// Forwards to `inner`, which must outlive it, and calls `act` at each fault. What pausing,
/// sticking or ending means is the substrate's business: sim and exec provide such functions.
class Faulty final : public Decorator {
 public:
  using Act = std::function<void(const Fault&)>;

  Faulty(Channel& inner, std::vector<Fault> faults, Act act);

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;

 private:
  void count_message();

  std::vector<Fault> faults_;
  Act act_;
  std::uint64_t posted_ = 0;
};

/// `count` delays of at most `longest_seconds` at messages drawn below `messages`: the same seed
/// gives the same faults on every machine.
std::vector<Fault> random_delays(std::uint64_t seed, int count, std::uint64_t messages,
                                 double longest_seconds);

}  // namespace tutti
