// Noise: seeded random disturbances of a simulated cluster, drawn anew for each repetition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/decorator.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// "start=exponential:20us": what is disturbed, and how the disturbance is distributed.
struct Jitter {
  enum class Target : std::uint8_t {
    start,      ///< A time by which each rank begins later.
    message,    ///< A time that passes before each message that is sent.
    compute,    ///< A factor on the time of each host's reductions and overheads.
    latency,    ///< A factor on each cable's latency,
    bandwidth,  ///< or on the time that it takes for its bytes.
  };
  enum class Distribution : std::uint8_t { exponential, uniform, normal, lognormal };

  Target target = Target::start;
  Distribution distribution = Distribution::exponential;
  double amount = 0.0;  ///< Seconds, or a share: 0.05 is 5 %.

  bool is_time() const { return target == Target::start || target == Target::message; }
};

/// How jitters are written and what they mean, for --help.
extern const char* const jitter_help;

/// Throws Error(usage) that lists what is valid. One a target.
std::vector<Jitter> parse_jitters(const std::vector<std::string>& texts);

/// A number that depends on nothing but the jitter and the three: seconds of at least 0, or a
/// factor of at least 0.01.
double drawn(const Jitter& jitter, std::uint64_t seed, std::uint64_t first, std::uint64_t second);

/// The shape and the ranks' starts as they are in one repetition. Throws Error(usage) for a jitter
/// that has no effect on the shape, and for one of hosts and links on a platform that SimGrid reads
/// as it is.
void disturb(Shape& shape, std::vector<double>& start_seconds, int ranks,
             const std::vector<Jitter>& jitters, std::uint64_t seed);

/// Lets time pass before each message that is sent; `inner` must outlive it.
class NoisyChannel final : public Decorator {
 public:
  NoisyChannel(Channel& inner, const Jitter& jitter, std::uint64_t seed)
      : Decorator(inner), jitter_(jitter), seed_(seed) {}

 protected:
  Request post_send(int to, Block block) override;

 private:
  const Jitter jitter_;
  const std::uint64_t seed_;
  std::uint64_t messages_ = 0;
};

}  // namespace tutti
