// SimulatedWorld: what the engines that simulate ranks have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/world.hpp"
#include "sim/observation.hpp"

namespace tutti {

/// How the network is modelled. `describe()` of the chosen one is printed with every result.
enum class NetworkModel : std::uint8_t {
  /// A flow takes latency + bytes / bandwidth, and the two directions of a cable do not disturb
  /// each
  /// other. Flows that share a link divide it in inverse proportion to the latencies of their
  /// routes, as TCP's do: fairly where these are equal. SimGrid's CM02 with all correction factors
  /// off; the replay's links.
  alpha_beta,
  /// The same with every link as wide as needed: no flow slows another. Only the replay has it.
  exact,
  /// alpha_beta with a window of 4 MiB a flow: at most that much is under way in a round trip.
  window,
  /// SimGrid's default: TCP's slow start and window, fitted by its authors. Only SimGrid has it.
  lv08,
};

/// Throws Error(usage) that lists the valid names ("alpha_beta", "exact", "window", "lv08").
NetworkModel parse_network_model(const std::string& name);

/// What a window model lets a flow have in a round trip.
inline constexpr double window_bytes = 0x1p22;

struct SimOptions {
  NetworkModel model = NetworkModel::alpha_beta;
  /// Messages up to this size need no posted receive to travel; 0: every message is a rendezvous.
  std::size_t eager_bytes = 0;
  int lanes = 1;
  std::uint64_t seed = 0;
  /// When each rank begins; those beyond the end begin at 0.
  std::vector<double> start_seconds = {};
  Observe observe = Observe::nothing;
};

/// A world whose clock is simulated. Each run() starts at time 0 and ends with the first failure in
/// simulated time. Equal programs and options give equal times and results, to the bit.
///
/// Reductions, copies and scaling take their bytes at the host's reduction speed; ranks and tasks
/// that work at the same time share its cores. Work::compute takes its seconds whatever else goes
/// on.
///
/// Errors beside those of the Channel: peer_lost if ranks can go on no more because one of them has
/// ended, deadlock if they wait for each other, mismatch if an eager message was never received. A
/// programmer error stays a ContractError.
///
/// Rank r runs on shape.hosts[shape.host_of(r)].
class SimulatedWorld : public World {
 public:
  /// "simgrid" or "replay": what results call it.
  virtual std::string_view engine() const = 0;

  /// Engine, model and its parameters, for people: "SimGrid 3.32, CM02, exact alpha-beta,
  /// rendezvous".
  virtual std::string describe() const = 0;

  /// As run(), for a program that may be called several times for each rank and needs nothing from
  /// the other ranks but messages: an engine may find the same times faster.
  virtual void run_repeatable(const Program& program) { run(program); }

  /// When each rank's program ended in the last run, and the latest of these.
  const std::vector<double>& end_seconds() const { return end_seconds_; }
  double seconds() const;

  /// Of the last run, as far as SimOptions::observe asked for it.
  const Observation& observation() const { return observation_; }

 protected:
  /// Throws Error(usage) if the shape has room for fewer ranks, or size < 1.
  SimulatedWorld(const Shape& shape, int size, const SimOptions& options);

  /// Derives the totals from the observed messages and blocks.
  void complete_observation(const Shape& shape, Observe observe);

  /// "rendezvous", or "eager up to 4096 bytes".
  static std::string describe_protocol(const SimOptions& options);

  std::vector<double> end_seconds_;
  Observation observation_;
};

}  // namespace tutti
