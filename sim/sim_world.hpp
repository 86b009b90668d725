// SimWorld: ranks as SimGrid actors on a Shape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// How SimGrid models the network. `describe()` of the chosen one is printed with every result.
enum class NetworkModel : std::uint8_t {
  /// CM02 with all correction factors off: a flow takes latency + bytes / bandwidth, and the two
  /// directions of a cable do not disturb each other. Flows that share a link divide it in inverse
  /// proportion to the latencies of their routes, as TCP's do: fairly where these are equal.
  alpha_beta,
  /// The same with a window of 4 MiB a flow: at most that much is under way in a round trip.
  window,
  /// SimGrid's default: TCP's slow start and window, fitted by its authors.
  lv08,
};

struct SimOptions {
  NetworkModel model = NetworkModel::alpha_beta;
  /// Messages up to this size need no posted receive to travel; 0: every message is a rendezvous.
  std::size_t eager_bytes = 0;
  int lanes = 1;
  std::uint64_t seed = 0;
  /// When each rank begins; those beyond the end begin at 0.
  std::vector<double> start_seconds = {};
};

/// Each run() is a simulation of its own, in a forked process (SimGrid has one engine a process),
/// starting at time 0. It ends with its caller, or at the first failure in simulated time. Equal
/// programs and options give equal times and results, to the bit.
///
/// Reductions, copies and scaling take their bytes at the host's reduction speed; work that ranks'
/// tasks do at the same time shares it. Work::compute takes its seconds whatever else goes on.
///
/// Errors beside those of the Channel: peer_lost if ranks can go on no more because one of them has
/// ended, deadlock if they wait for each other, mismatch if an eager message was never received,
/// system if the process could not be started or crashed. A programmer error stays a ContractError.
///
/// Rank r runs on shape.hosts[shape.host_of(r)]: ranks of one host share its cores for reductions.
/// Cost: about 1.5 ms a run and 3 us a message. The caller must have no threads. Files that the
/// program writes to are to be flushed before it returns.
class SimWorld final : public World {
 public:
  /// The shape's first ranks. Error(usage) if the shape has fewer, or size < 1.
  SimWorld(Shape shape, int size, SimOptions options = {});
  ~SimWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

  /// When each rank's program ended in the last run, and the latest of these.
  const std::vector<double>& end_seconds() const;
  double seconds() const;

  /// The model and its parameters, for people: "SimGrid 3.32, CM02, exact alpha-beta, rendezvous".
  std::string describe() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws Error(usage) that lists the valid names ("alpha_beta", "window", "lv08").
NetworkModel parse_network_model(const std::string& name);

}  // namespace tutti
