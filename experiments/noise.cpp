#include "experiments/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string_view>

#include "collectives/error.hpp"
#include "experiments/output.hpp"
#include "topologies/units.hpp"
#include "topologies/words.hpp"

namespace tutti {

const char* const jitter_help =
    R"(Noise: --jitter WHAT=DISTRIBUTION:AMOUNT, drawn anew from --seed in each of --repetitions
  start, message      times such as 20us: each rank begins, or each message is sent, later by
                      exponential (the mean), uniform (from 0 to it), normal (the absolute value of
                      one with this deviation) or lognormal (the median; the logarithm's
                      deviation is 1)
  compute, latency, bandwidth
                      shares such as 5%: the time of each host's reductions and overheads, of each
                      cable's latency, or of its bytes is multiplied by 1 + exponential (the
                      mean), 1 + uniform (from -5% to 5%), 1 + normal (the deviation), or lognormal
                      (the deviation of the logarithm); never by less than 0.01
time is then the mean over the repetitions, p50 and p99 are over them.)";

namespace {

using Target = Jitter::Target;
using Distribution = Jitter::Distribution;

const std::vector<std::string_view> target_names = {"start", "message", "compute", "latency",
                                                    "bandwidth"};
const std::vector<std::string_view> distribution_names = {"exponential", "uniform", "normal",
                                                          "lognormal"};
constexpr double smallest_factor = 0.01;

// The last step of splitmix64: every bit of the argument changes every bit of the result.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// In (0, 1).
double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

std::size_t index_of(std::string_view name, const std::vector<std::string_view>& names,
                     const std::string& text) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw Error(ErrorKind::usage, fmt::format("--jitter {}: unknown '{}', {}", shorten_words(text),
                                            shown(name), hint_for(name, names)));
}

double parse_share(std::string_view text) {
  if (!text.ends_with('%')) {
    throw ShapeError(fmt::format("{} is no share, expected such as 5%", quote(text)));
  }
  return parse_factor(text);
}

Jitter parse_jitter(const std::string& text) {
  const std::string_view all = text;
  const std::size_t equals = all.find('='), colon = all.find(':', std::min(equals, all.size()));
  if (equals == std::string_view::npos || colon == std::string_view::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("--jitter {}: expected WHAT=DISTRIBUTION:AMOUNT, such as "
                            "start=exponential:20us or compute=lognormal:5%",
                            shorten_words(text)));
  }
  Jitter jitter;
  jitter.target = static_cast<Target>(index_of(all.substr(0, equals), target_names, text));
  jitter.distribution = static_cast<Distribution>(
      index_of(all.substr(equals + 1, colon - equals - 1), distribution_names, text));
  try {
    const std::string_view amount = all.substr(colon + 1);
    jitter.amount = jitter.is_time() ? parse_duration(amount) : parse_share(amount);
  } catch (const ShapeError& error) {
    throw Error(ErrorKind::usage,
                fmt::format("--jitter {}: {}", shorten_words(text), error.what()));
  }
  return jitter;
}

bool has_own_costs(const Host& host) {
  return host.reduction_bytes_per_second || host.send_overhead_seconds > 0.0 ||
         host.receive_overhead_seconds > 0.0;
}

void check_effect(const Shape& shape, const Jitter& jitter) {
  if (jitter.is_time()) return;
  const auto name = target_names[static_cast<std::size_t>(jitter.target)];
  if (!shape.platform_file.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("--jitter {}: SimGrid reads its platform {} as it is; 'tutti topo "
                            "import' makes a topology that can be disturbed",
                            name, shape.platform_file));
  }
  const bool has_costs = std::any_of(shape.hosts.begin(), shape.hosts.end(), has_own_costs);
  if (jitter.target == Target::compute && !has_costs) {
    throw Error(ErrorKind::usage,
                fmt::format("--jitter compute: nothing to disturb, reductions and overheads of {} "
                            "are free; try --set 'host[*].reduction=10GBps'",
                            shape.name));
  }
}

// Both directions of a cable are disturbed alike.
void disturb_links(Shape& shape, const Jitter& jitter, std::uint64_t seed) {
  for (std::size_t index = 0; index < shape.links.size(); ++index) {
    Link& link = shape.links[index];
    const auto opposite = static_cast<std::size_t>(std::max(link.opposite, 0));
    const std::size_t cable = link.opposite >= 0 ? std::min(index, opposite) : index;
    const double factor = drawn(jitter, seed, cable, 0);
    if (jitter.target == Target::latency) {
      link.latency_seconds *= factor;
    } else {
      link.bandwidth_bytes_per_second /= factor;
    }
  }
}

}  // namespace

std::vector<Jitter> parse_jitters(const std::vector<std::string>& texts) {
  std::vector<Jitter> jitters;
  std::set<Target> seen;
  for (const std::string& text : texts) {
    jitters.push_back(parse_jitter(text));
    if (seen.insert(jitters.back().target).second) continue;
    throw Error(ErrorKind::usage,
                fmt::format("--jitter {}: given twice for one target", shorten_words(text)));
  }
  return jitters;
}

double drawn(const Jitter& jitter, std::uint64_t seed, std::uint64_t first, std::uint64_t second) {
  const auto target = static_cast<std::uint64_t>(jitter.target);
  const std::uint64_t bits = mixed(mixed(mixed(mixed(seed) + target) + first) + second);
  const double one = uniform(bits), other = uniform(mixed(bits));
  const double normal = std::sqrt(-2.0 * std::log(one)) * std::cos(2.0 * std::numbers::pi * other);
  const double amount = jitter.amount;
  const bool is_time = jitter.is_time();
  double value = 0.0;
  switch (jitter.distribution) {
    case Distribution::exponential:
      value = (is_time ? 0.0 : 1.0) - amount * std::log(one);
      break;
    case Distribution::uniform:
      value = is_time ? amount * one : 1.0 + amount * (2.0 * one - 1.0);
      break;
    case Distribution::normal:
      value = is_time ? std::abs(amount * normal) : 1.0 + amount * normal;
      break;
    case Distribution::lognormal:
      value = is_time ? amount * std::exp(normal) : std::exp(amount * normal);
      break;
  }
  return is_time ? value : std::max(value, smallest_factor);
}

void disturb(Shape& shape, std::vector<double>& start_seconds, int ranks,
             const std::vector<Jitter>& jitters, std::uint64_t seed) {
  for (const Jitter& jitter : jitters) {
    check_effect(shape, jitter);
    switch (jitter.target) {
      case Target::message:
        break;
      case Target::start:
        start_seconds.resize(static_cast<std::size_t>(ranks), 0.0);
        for (std::size_t rank = 0; rank < start_seconds.size(); ++rank) {
          start_seconds[rank] += drawn(jitter, seed, rank, 0);
        }
        break;
      case Target::compute:
        for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
          shape.hosts[host].speed /= drawn(jitter, seed, host, 0);
        }
        break;
      case Target::latency:
      case Target::bandwidth:
        disturb_links(shape, jitter, seed);
        break;
    }
  }
}

Request NoisyChannel::post_send(int to, Block block) {
  const auto index = static_cast<std::uint64_t>(rank());
  Work delay;
  delay.seconds = drawn(jitter_, seed_, index, messages_);
  inner().charge(delay);
  ++messages_;
  return inner().isend(to, block);
}

}  // namespace tutti
