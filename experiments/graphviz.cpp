#include "experiments/graphviz.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "collectives/error.hpp"
#include "topologies/export.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_drawn_nodes = 2000;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary_file() {
  File file(std::tmpfile(), std::fclose);
  if (file != nullptr) return file;
  throw Error(ErrorKind::system, fmt::format("cannot make a temporary file for the drawing: {}",
                                             std::generic_category().message(errno)));
}

std::string content_of(std::FILE* file) {
  std::string text;
  std::fseek(file, 0, SEEK_SET);
  std::array<char, 4096> buffer;
  for (std::size_t read = 1; read > 0;) {
    read = std::fread(buffer.data(), 1, buffer.size(), file);
    text.append(buffer.data(), read);
  }
  return text;
}

/// Runs `dot` from file to file; returns its exit code.
int run_graphviz(const char* layout, std::FILE* input, std::FILE* output) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, fileno(input), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(output), STDOUT_FILENO);
  std::array<std::string, 3> words = {"dot", layout, "-Tsvg"};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
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
  const bool has_switches =
      std::any_of(shape.nodes.begin(), shape.nodes.end(),
                  [](const Node& node) { return node.kind == Node::Kind::fabric; });
  const std::string text = export_dot(shape);
  const File input = temporary_file(), output = temporary_file();
  std::fwrite(text.data(), 1, text.size(), input.get());
  std::fflush(input.get());
  std::rewind(input.get());
  const int code = run_graphviz(has_switches ? "-Kdot" : "-Kneato", input.get(), output.get());
  if (code != 0) {
    throw Error(
        ErrorKind::system,
        fmt::format("Graphviz's program dot ended with exit code {} on {}", code, shape.name));
  }
  return content_of(output.get());
}

}  // namespace tutti
