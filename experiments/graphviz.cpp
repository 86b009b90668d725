#include "experiments/graphviz.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "collectives/error.hpp"
#include "process/temporary_file.hpp"
#include "topologies/export.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_drawn_nodes = 2000;

/// Runs `dot` from file to file; returns its exit code.
int run_graphviz(const TemporaryFile& input, const TemporaryFile& output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output.descriptor(), STDOUT_FILENO);
  std::array<std::string, 2> words = {"dot", "-Tsvg"};
  std::array<char*, 3> arguments = {words[0].data(), words[1].data(), nullptr};
  pid_t process = 0;
  const int error = posix_spawnp(&process, "dot", &files, nullptr, arguments.data(), ::environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    throw Error(ErrorKind::system,
                fmt::format("cannot run Graphviz's program dot: {}; its Debian package is graphviz",
                            std::generic_category().message(error)));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string draw_svg(const Shape& shape) {
  if (shape.nodes.size() > most_drawn_nodes) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has {} nodes, more than {} are no picture; draw a smaller one of "
                            "its kind with --set",
                            shape.name, shape.nodes.size(), most_drawn_nodes));
  }
  const TemporaryFile input, output;
  input.write(export_dot(shape));
  input.rewind();
  const int code = run_graphviz(input, output);
  if (code != 0) {
    throw Error(
        ErrorKind::system,
        fmt::format("Graphviz's program dot ended with exit code {} on {}", code, shape.name));
  }
  return output.content();
}

}  // namespace tutti
