// Transports by name: what carries the messages of a command.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "collectives/world.hpp"

namespace tutti {

enum class Transport { shm, sim };

/// More processes than anybody means to start on one machine.
inline constexpr int most_real_ranks = 256;

/// One of `valid`. Throws Error(usage) that lists them.
Transport parse_transport(const std::string& name, std::initializer_list<Transport> valid);

std::string name_of(Transport transport);

/// A world of `ranks`: forked processes, or a simulated star of 12.5 GB/s and 5 us.
std::unique_ptr<World> make_world(Transport transport, int ranks, double timeout_seconds);

}  // namespace tutti
