#include "sim/simulated_world.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

NetworkModel parse_network_model(const std::string& name) {
  if (name == "alpha_beta") return NetworkModel::alpha_beta;
  if (name == "exact") return NetworkModel::exact;
  if (name == "window") return NetworkModel::window;
  if (name == "lv08") return NetworkModel::lv08;
  throw Error(
      ErrorKind::usage,
      fmt::format("unknown network model '{}', expected alpha_beta, exact, window or lv08", name));
}

SimulatedWorld::SimulatedWorld(const Shape& shape, int size, const SimOptions& options)
    : World(size, options.lanes) {
  if (size < 1 || size > shape.size()) {
    throw Error(ErrorKind::usage, fmt::format("{} ranks on {}, which has room for {}", size,
                                              shape.name, shape.size()));
  }
  check(options.lanes >= 1, "a world of {} lanes, expected at least one", options.lanes);
  end_seconds_.resize(static_cast<std::size_t>(size));
}

void SimulatedWorld::complete_observation(const Shape& shape, Observe observe) {
  observation_.links = link_uses(shape, observation_.messages);
  observation_.waits = peer_waits(size(), observation_);
  if (observe == Observe::messages) return;
  observation_.messages = {};
  observation_.blocks = {};
}

std::string SimulatedWorld::describe_protocol(const SimOptions& options) {
  return options.eager_bytes == 0 ? "rendezvous"
                                  : fmt::format("eager up to {} bytes", options.eager_bytes);
}

double SimulatedWorld::seconds() const {
  return *std::max_element(end_seconds_.begin(), end_seconds_.end());
}

}  // namespace tutti
