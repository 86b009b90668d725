#include "topologies/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

/// Larger than any limit, and small enough to be added to and multiplied by a few.
constexpr std::int64_t too_large = std::int64_t{1} << 56;

std::string prefixed(std::string_view key, std::string_view figure) {
  return key.empty() ? std::string(figure) : fmt::format("{}: {}", key, figure);
}

void require_seconds(std::string_view key, std::string_view figure, double seconds) {
  if (std::isfinite(seconds) && seconds >= 0.0) return;
  throw ShapeError(
      fmt::format("{} is {} s, expected zero or more", prefixed(key, figure), seconds));
}

}  // namespace

void require_within(std::string_view key, std::int64_t value, std::int64_t smallest,
                    std::int64_t largest) {
  if (value >= smallest && value <= largest) return;
  throw ShapeError(fmt::format("'{}' is {}, expected {} to {}", key, value, smallest, largest));
}

void require_link(std::string_view key, const LinkSpec& spec) {
  const double bandwidth = spec.bandwidth_bytes_per_second;
  if (!std::isfinite(bandwidth) || bandwidth <= 0.0) {
    throw ShapeError(fmt::format("{} is {} bytes/s, expected a positive number",
                                 prefixed(key, "the bandwidth"), bandwidth));
  }
  require_seconds(key, "the latency", spec.latency_seconds);
  require_seconds(key, "the overhead", spec.overhead_seconds);
}

std::int64_t saturating_product(const std::vector<int>& figures) {
  std::int64_t product = 1;
  for (const int figure : figures) {
    if (figure > 0 && product > too_large / figure) return too_large;
    product *= figure;
  }
  return product;
}

const LinkSpec& link_of_level(const std::vector<LinkSpec>& links, std::size_t level,
                              std::size_t levels) {
  if (links.size() == 1) return links.front();
  if (links.size() == levels) return links[level];
  throw ShapeError(fmt::format("'links' has {} entries, expected 1 or {}", links.size(), levels));
}

LinkSpec half_of(const LinkSpec& spec) {
  LinkSpec half = spec;
  half.latency_seconds /= 2;
  return half;
}

std::string shown_link(const LinkSpec& spec) {
  std::string text = fmt::format("{:.6g} GB/s, {:.6g} us", spec.bandwidth_bytes_per_second / 1e9,
                                 spec.latency_seconds * 1e6);
  if (spec.overhead_seconds > 0.0) {
    text += fmt::format(", {:.6g} us a message", spec.overhead_seconds * 1e6);
  }
  return spec.shared ? text + ", shared" : text;
}

std::string shown_links(const std::vector<LinkSpec>& specs) {
  std::vector<std::string> shown;
  for (const LinkSpec& spec : specs) {
    std::string text = shown_link(spec);
    if (std::find(shown.begin(), shown.end(), text) == shown.end()) shown.push_back(text);
  }
  return fmt::format("{}", fmt::join(shown, "; "));
}

std::string shown_sizes(const std::vector<int>& sizes) {
  return fmt::format("{}", fmt::join(sizes, "x"));
}

}  // namespace tutti
