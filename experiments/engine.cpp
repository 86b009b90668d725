#include "experiments/engine.hpp"

#include <fmt/format.h>

#include <utility>

#include "sim/replay_world.hpp"
#include "sim/sim_world.hpp"

namespace tutti {

const char* const engine_help =
    "What simulates: simgrid (the reference), replay (fast, the same model), or auto: simgrid for "
    "up to 128 ranks, the model lv08 and SimGrid's platform files, replay otherwise and for the "
    "model exact";

Engine parse_engine(const std::string& name) {
  if (name == "auto") return Engine::automatic;
  if (name == "simgrid") return Engine::simgrid;
  if (name == "replay") return Engine::replay;
  throw Error(ErrorKind::usage,
              fmt::format("unknown engine '{}', expected auto, simgrid or replay", name));
}

Engine choose_engine(Engine asked, const Shape& shape, int ranks, NetworkModel model) {
  if (asked != Engine::automatic) return asked;
  if (model == NetworkModel::exact) return Engine::replay;
  const bool is_simgrids = model == NetworkModel::lv08 || !shape.platform_file.empty();
  return is_simgrids || ranks <= most_automatic_simgrid_ranks ? Engine::simgrid : Engine::replay;
}

std::unique_ptr<SimulatedWorld> make_simulated_world(Engine asked, Shape shape, int ranks,
                                                     SimOptions options) {
  if (choose_engine(asked, shape, ranks, options.model) == Engine::simgrid) {
    return std::make_unique<SimWorld>(std::move(shape), ranks, std::move(options));
  }
  return std::make_unique<ReplayWorld>(std::move(shape), ranks, std::move(options));
}

}  // namespace tutti
