#include "process/temporary_file.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include "collectives/error.hpp"

namespace tutti {

TemporaryFile::TemporaryFile() : file_(std::tmpfile(), std::fclose) {
  if (file_ != nullptr) return;
  throw Error(ErrorKind::system, fmt::format("cannot make a temporary file: {}",
                                             std::generic_category().message(errno)));
}

void TemporaryFile::write(std::string_view text) const {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), file_.get());
  if (written == text.size() && std::fflush(file_.get()) == 0) return;
  throw Error(ErrorKind::system, fmt::format("cannot write to a temporary file: {}",
                                             std::generic_category().message(errno)));
}

std::string TemporaryFile::content() const {
  std::string text;
  std::array<char, 4096> buffer;
  rewind();
  for (std::size_t read = 1; read > 0;) {
    read = std::fread(buffer.data(), 1, buffer.size(), file_.get());
    text.append(buffer.data(), read);
  }
  return text;
}

}  // namespace tutti
