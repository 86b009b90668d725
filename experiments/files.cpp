#include "experiments/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "collectives/error.hpp"

namespace tutti {

std::string read_file(const std::string& name, std::size_t most_bytes) {
  errno = 0;
  std::ifstream stream(name, std::ios::binary);
  std::string content;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof buffer), stream.gcount() > 0) {
    content.append(buffer, static_cast<std::size_t>(stream.gcount()));
    if (content.size() <= most_bytes) continue;
    throw Error(ErrorKind::usage,
                fmt::format("{}: over {} MiB, expected a smaller file", name, most_bytes >> 20));
  }
  if (stream.eof() && !stream.bad()) return content;
  throw Error(ErrorKind::system,
              fmt::format("cannot read '{}': {}", name, std::strerror(errno == 0 ? EIO : errno)));
}

bool is_readable(const std::string& name) {
  std::error_code error;
  return std::filesystem::is_regular_file(name, error) && std::ifstream(name).is_open();
}

void check_apart(const std::string& trace, const std::string& topology) {
  std::error_code missing;
  if (trace.empty() || !std::filesystem::equivalent(trace, topology, missing)) return;
  throw Error(ErrorKind::usage, fmt::format("--trace {}: this is the topology's file", trace));
}

void write_file(const std::string& name, const std::string& content) {
  errno = 0;
  std::ofstream stream(name, std::ios::binary);
  stream << content << std::flush;
  if (stream) return;
  throw Error(ErrorKind::system,
              fmt::format("cannot write '{}': {}", name, std::strerror(errno == 0 ? EIO : errno)));
}

}  // namespace tutti
