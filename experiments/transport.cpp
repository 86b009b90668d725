#include "experiments/transport.hpp"

#include <fmt/ranges.h>

#include <vector>

#include "exec/fork_world.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {

Transport parse_transport(const std::string& name, std::initializer_list<Transport> valid) {
  std::vector<std::string> names;
  for (const Transport transport : valid) {
    if (name_of(transport) == name) return transport;
    names.push_back(name_of(transport));
  }
  throw Error(ErrorKind::usage, fmt::format("unknown transport '{}', expected one of {}", name,
                                            fmt::join(names, ", ")));
}

std::string name_of(Transport transport) {
  return transport == Transport::shm ? "shm" : "sim";
}

std::unique_ptr<World> make_world(Transport transport, int ranks, double timeout_seconds) {
  if (transport == Transport::shm) {
    return std::make_unique<ForkWorld>(ranks, ForkOptions{.timeout_seconds = timeout_seconds});
  }
  return std::make_unique<SimWorld>(star_shape(ranks, 12.5e9, 5e-6), ranks);
}

}  // namespace tutti
