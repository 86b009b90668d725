#include "experiments/sizes.hpp"

#include <charconv>
#include <limits>
#include <sstream>
#include <string_view>

#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_sizes = 10'000;

// The power of two that the suffix stands for, -1 if it is none.
int shift_of(std::string_view suffix) {
  if (suffix.empty()) return 0;
  static constexpr std::string_view prefixes = "KMGT";
  const char upper = static_cast<char>(suffix.front() & ~0x20);
  const std::size_t index = prefixes.find(upper);
  if (index == std::string_view::npos) return suffix == "B" || suffix == "b" ? 0 : -1;
  suffix.remove_prefix(1);
  if (suffix.starts_with('i') && suffix.size() > 1) suffix.remove_prefix(1);
  const bool known = suffix.empty() || suffix == "B" || suffix == "b";
  return known ? 10 * (static_cast<int>(index) + 1) : -1;
}

std::vector<std::size_t> listed_sizes(const std::string& text) {
  std::vector<std::size_t> sizes;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    sizes.push_back(parse_size(item));
    if (sizes.size() <= most_sizes) continue;
    throw Error(ErrorKind::usage, fmt::format("more than {} sizes; list fewer", most_sizes));
  }
  return sizes;
}

}  // namespace

std::size_t parse_size(const std::string& text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const int shift = shift_of(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (error == std::errc::invalid_argument || shift < 0) {
    throw Error(ErrorKind::usage,
                fmt::format("size '{}' is not a number of bytes, expected such as 8, 4K or 16M "
                            "(binary: 1K is 1024)",
                            text));
  }
  // The largest blocks are addressed by signed 64-bit numbers.
  const auto limit = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  if (error != std::errc() || number > (limit >> shift)) {
    throw Error(ErrorKind::usage, fmt::format("size '{}' is more than 8 EiB", text));
  }
  return number << shift;
}

std::vector<std::size_t> sweep_sizes(const SweepFlags& flags) {
  if (!flags.sizes.empty()) return listed_sizes(flags.sizes);
  const std::size_t first = parse_size(flags.minimum), last = parse_size(flags.maximum);
  const std::size_t step = flags.step.empty() ? 0 : parse_size(flags.step);
  if (first > last) {
    throw Error(ErrorKind::usage,
                fmt::format("the smallest size (-b {}) is above the largest (-e {})", flags.minimum,
                            flags.maximum));
  }
  if (first == last) return {first};
  if (step == 0 && (!flags.step.empty() || flags.factor < 2 || first == 0)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("sizes do not grow from -b {} with {}; use -f 2 or more, or -i", flags.minimum,
                    flags.step.empty() ? fmt::format("-f {}", flags.factor)
                                       : fmt::format("-i {}", flags.step)));
  }
  std::vector<std::size_t> sizes;
  for (std::size_t size = first; size <= last;) {
    sizes.push_back(size);
    if (sizes.size() > most_sizes) {
      throw Error(ErrorKind::usage,
                  fmt::format("more than {} sizes; use a larger step", most_sizes));
    }
    const bool is_last = step > 0 ? last - size < step : size > last / flags.factor;
    if (is_last) break;
    size = step > 0 ? size + step : size * flags.factor;
  }
  return sizes;
}

}  // namespace tutti
