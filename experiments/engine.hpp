// The engine that simulates: which one a command line asks for, and a world of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/simulated_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {

enum class Engine : std::uint8_t {
  automatic,  ///< See choose_engine().
  simgrid,
  replay,
};

/// The most ranks that automatic simulates with SimGrid: a few seconds for the algorithms with the
/// most messages.
inline constexpr int most_automatic_simgrid_ranks = 128;

/// Throws Error(usage) that lists the valid names ("auto", "simgrid", "replay").
Engine parse_engine(const std::string& name);

/// What `asked` comes to, never automatic: SimGrid for at most most_automatic_simgrid_ranks ranks,
/// for the lv08 model and for platform files, which only it understands; the replay otherwise, and
/// for the exact model, which only it has. It depends on nothing else, so that all rows of a table
/// have the same engine.
Engine choose_engine(Engine asked, const Shape& shape, int ranks, NetworkModel model);

/// A world of choose_engine()'s engine. Throws as its constructor does.
std::unique_ptr<SimulatedWorld> make_simulated_world(Engine asked, Shape shape, int ranks,
                                                     SimOptions options);

/// For --help: the names, and the rule of auto.
extern const char* const engine_help;

}  // namespace tutti
