// A file without a name, for what a child process has to say.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tutti {

/// Is gone with its last user. Children inherit it.
class TemporaryFile {
 public:
  /// Throws Error(system).
  TemporaryFile();

  int descriptor() const { return fileno(file_.get()); }

  /// Throws Error(system) if not all of it can be written.
  void write(std::string_view text) const;

  /// To the beginning, for the next reader.
  void rewind() const { std::rewind(file_.get()); }

  /// All of it, from the beginning.
  std::string content() const;

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace tutti
