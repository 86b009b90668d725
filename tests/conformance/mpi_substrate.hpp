// The mpi transport as a substrate: every process of the launch runs the whole suite.
#pragma once

#include "exec/joined_world.hpp"
#include "tests/conformance/substrates.hpp"

namespace tutti {

/// What mpi_main.cpp has joined.
JoinedTransport& mpi_transport();

/// Worlds of the first processes of the launch.
Substrate mpi_substrate();

}  // namespace tutti
