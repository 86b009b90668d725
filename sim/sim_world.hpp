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
  alpha_beta,  ///< CM02 with all correction factors off: a flow takes latency + bytes / bandwidth.
  lv08,        ///< SimGrid's default: TCP's slow start and window, fitted by its authors.
};

struct SimOptions {
  NetworkModel model = NetworkModel::alpha_beta;
  /// Messages up to this size need no posted receive to travel; 0: every message is a rendezvous.
  std::size_t eager_bytes = 0;
  int lanes = 1;
  std::uint64_t seed = 0;
};

/// Each run() is a simulation of its own, in a forked process (SimGrid has one engine a process),
/// starting at time 0.
class SimWorld final : public World {
 public:
  /// Ranks 0..size-1 on the shape's first hosts. Error(usage) if the shape has fewer.
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

/// Throws Error(usage) that lists the valid names ("alpha_beta", "lv08").
NetworkModel parse_network_model(const std::string& name);

}  // namespace tutti
