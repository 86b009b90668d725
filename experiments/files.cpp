#include "experiments/files.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;

}  // namespace

std::string read_file(const std::string& name) {
  errno = 0;
  std::ifstream stream(name, std::ios::binary);
  std::string content;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof buffer), stream.gcount() > 0) {
    content.append(buffer, static_cast<std::size_t>(stream.gcount()));
    if (content.size() <= most_bytes) continue;
    throw Error(ErrorKind::usage, fmt::format("{}: over 1 GiB, expected a smaller file", name));
  }
  if (stream.eof() && !stream.bad()) return content;
  throw Error(ErrorKind::usage,
              fmt::format("cannot read '{}': {}", name, std::strerror(errno == 0 ? EIO : errno)));
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
