// Output: what the commands print, with every failed write noticed.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tutti {

/// Keys in the order in which they are written.
using Json = nlohmann::ordered_json;

/// Lines of results. Every line is flushed, so that nothing is left in a buffer when ranks fork.
class Output {
 public:
  /// `file` must outlive the object, null drops all; SIGPIPE must be ignored.
  explicit Output(std::FILE* file = stdout) : file_(file) {}

  /// Throws Error(system) if the text cannot be written. Once the reader has gone, such as `head`,
  /// nothing is written any more, and that is no error: what is judged still has to be.
  void line(std::string_view text);

  /// True once the reader has gone.
  bool is_closed() const { return closed_; }

  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    line(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  std::FILE* file_;
  bool closed_ = false;
};

/// "tutti: warning: TEXT" on stderr.
void warn(std::string_view text);

/// One line on stderr that says how far a long job is. Silent unless stderr is a terminal, and
/// during the first second.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(std::string_view text);

  /// Makes room for a line of results.
  void clear();

 private:
  const bool is_terminal_;
  const std::chrono::steady_clock::time_point start_;
  bool shown_ = false;
};

/// `text` for a message: of words longer than 64 characters, 512 where they look like a path, only
/// the first and last 32 are kept.
std::string shorten_words(std::string_view text);

/// "1 rank", "4 ranks".
std::string counted(long long count, std::string_view noun);

/// "50.0 kB", "16.8 MB": decimal prefixes, one digit after the point.
std::string format_bytes(double bytes);

/// The value in microseconds; null stays null.
Json microseconds_json(std::optional<double> seconds);

/// With `digits` after the point; "n/a" where there is none.
std::string format_number(std::optional<double> value, int digits);

}  // namespace tutti
