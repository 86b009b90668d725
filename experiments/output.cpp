#include "experiments/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "collectives/error.hpp"

namespace tutti {

void Output::line(std::string_view text) {
  if (closed_ || file_ == nullptr) return;
  std::string whole(text);
  whole += '\n';
  errno = 0;
  const bool written = std::fwrite(whole.data(), 1, whole.size(), file_) == whole.size();
  if (written && std::fflush(file_) == 0) return;
  closed_ = errno == EPIPE;
  if (closed_) return;
  throw Error(ErrorKind::system, fmt::format("cannot write the results: {}", std::strerror(errno)));
}

void warn(std::string_view text) {
  std::fprintf(stderr, "tutti: warning: %s\n", shorten_words(text).c_str());
}

StatusLine::StatusLine()
    : is_terminal_(isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

StatusLine::~StatusLine() {
  clear();
}

void StatusLine::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void StatusLine::show(std::string_view text) {
  if (!is_terminal_) return;
  if (std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
  shown_ = true;
}

std::string shorten_words(std::string_view text) {
  constexpr std::size_t kept = 32, longest_path = 512;
  const auto is_inside_character = [&](std::size_t i) { return (text[i] & 0xC0) == 0x80; };
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    // Of a path all is needed.
    const bool is_path = word.find('/') != std::string_view::npos;
    if (word.size() <= (is_path ? longest_path : 2 * kept)) {
      result += word;
    } else {
      std::size_t head = begin + kept, tail = end - kept;
      while (head > begin && is_inside_character(head)) --head;
      while (tail < end && is_inside_character(tail)) ++tail;
      result += text.substr(begin, head - begin);
      result += "...";
      result += text.substr(tail, end - tail);
    }
    if (end < text.size()) result += text[end];
    begin = end + 1;
  }
  return result;
}

std::string counted(long long count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string format_bytes(double bytes) {
  static constexpr std::array prefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t index = 0;
  while (bytes >= 999.95 && index + 1 < prefixes.size()) {
    bytes /= 1000;
    ++index;
  }
  return fmt::format("{:.{}f} {}B", bytes, index == 0 ? 0 : 1, prefixes[index]);
}

Json microseconds_json(std::optional<double> seconds) {
  if (!seconds || !std::isfinite(*seconds)) return nullptr;
  return *seconds * 1e6;
}

std::string format_number(std::optional<double> value, int digits) {
  if (!value || !std::isfinite(*value)) return "n/a";
  return fmt::format("{:.{}f}", *value, digits);
}

}  // namespace tutti
