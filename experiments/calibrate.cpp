#include "experiments/calibrate.hpp"

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>

#include "exec/cores.hpp"
#include "experiments/files.hpp"
#include "experiments/question.hpp"
#include "experiments/segments.hpp"
#include "experiments/sizes.hpp"

namespace tutti {
namespace {

std::string machine_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<ProvenanceEntry> provenance_of_this_machine() {
  utsname system{};
  uname(&system);
  std::array<double, 1> load{};
  const bool is_known = getloadavg(load.data(), 1) == 1;
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  return {{"machine", machine_name()},
          {"host", system.nodename},
          {"cores", std::to_string(available_cores())},
          {"system", fmt::format("{} {}", system.sysname, system.release)},
          {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"version", TUTTI_VERSION},
          {"load_average", is_known ? fmt::format("{:.2f}", load[0]) : "unknown"}};
}

std::string summary_of(const RankProfile& world) {
  const std::size_t largest = world.points.back().buffer_bytes;
  const auto rate = [&](Curve curve) {
    return fmt::format("{:.3g} GB/s",
                       static_cast<double>(largest) / world.seconds(curve, largest, largest) / 1e9);
  };
  return fmt::format(
      "{} ranks: {:.3g} us a small message alone, {:.3g} us loaded, {:.3g} us a call; {} {} alone, "
      "{} loaded, {} reduced; senders wait {}",
      world.ranks, world.seconds(Curve::alone, 1, 1) * 1e6,
      world.seconds(Curve::loaded, 1, 1) * 1e6, world.call.seconds * 1e6,
      format_bytes(static_cast<double>(largest)), rate(Curve::alone), rate(Curve::loaded),
      rate(Curve::reduced),
      world.rendezvous_bytes == 0 ? "never" : fmt::format("from {} B on", world.rendezvous_bytes));
}

// Each message in the smallest buffer that has it: a whole message, out of the caches only where it
// is too large for them.
std::vector<TimedBytes> whole_messages(const RankProfile& world, Curve curve) {
  std::map<std::size_t, double> times;
  for (const ProfilePoint& point : world.points) {
    times.try_emplace(point.message_bytes, point.time(curve).seconds);
  }
  std::vector<TimedBytes> result;
  for (const auto& [bytes, seconds] : times) {
    if (seconds > 0.0) result.push_back({bytes, seconds});
  }
  return result;
}

constexpr std::array fitted_curves = {Curve::alone, Curve::loaded, Curve::loaded_shared};

struct Fit {
  Curve curve = Curve::alone;
  std::vector<Segment> segments;
};

std::vector<Fit> fits_of(const RankProfile& world, std::uint64_t seed) {
  constexpr std::size_t fewest = 3;
  std::vector<Fit> fits;
  for (const Curve curve : fitted_curves) {
    const std::vector<TimedBytes> times = whole_messages(world, curve);
    if (times.size() >= fewest) fits.push_back({curve, fit_segments(times, seed)});
  }
  return fits;
}

std::string text_of(const Fit& fit, int ranks) {
  std::string text = fmt::format("{} ranks, {}:", ranks, name_of(fit.curve));
  const char* separator = "";
  for (const Segment& each : fit.segments) {
    text += fmt::format("{} {}..{} B {:.3g} us + {:.3g} ns/B ({:.3g}..{:.3g}), residual {:.1f} %",
                        separator, each.from_bytes, each.to_bytes, each.start.seconds * 1e6,
                        each.slope.seconds * 1e9, each.slope.low_seconds * 1e9,
                        each.slope.high_seconds * 1e9, each.relative_residual * 100);
    separator = ";";
  }
  return text;
}

Json json_of(const Estimate& estimate) {
  return Json::array(
      {estimate.seconds * 1e6, estimate.low_seconds * 1e6, estimate.high_seconds * 1e6});
}

Json json_of(const std::vector<Fit>& fits) {
  Json json = Json::object();
  for (const Fit& fit : fits) {
    Json& segments = json[std::string(name_of(fit.curve))] = Json::array();
    for (const Segment& each : fit.segments) {
      Estimate slope = each.slope;  // json_of() is of microseconds.
      for (double* value : {&slope.seconds, &slope.low_seconds, &slope.high_seconds}) *value *= 1e3;
      segments.push_back({{"from_bytes", each.from_bytes},
                          {"to_bytes", each.to_bytes},
                          {"start_us", json_of(each.start)},
                          {"slope_ns_per_byte", json_of(slope)},
                          {"relative_residual", each.relative_residual}});
    }
  }
  return json;
}

Json json_of(const Profile& profile, std::uint64_t seed) {
  Json json = {{"transport", profile.transport},
               {"dtype", name_of(profile.dtype)},
               {"provenance", Json::object()},
               {"worlds", Json::array()}};
  for (const ProvenanceEntry& entry : profile.provenance)
    json["provenance"][entry.key] = entry.value;
  for (const RankProfile& world : profile.ranks) {
    Json points = Json::array();
    for (const ProfilePoint& point : world.points) {
      Json each = {{"buffer_bytes", point.buffer_bytes}, {"message_bytes", point.message_bytes}};
      for (std::size_t i = 0; i < curves; ++i) {
        each[std::string(name_of(static_cast<Curve>(i))) + "_us"] = json_of(point.times[i]);
      }
      points.push_back(std::move(each));
    }
    json["worlds"].push_back({{"ranks", world.ranks},
                              {"call_us", json_of(world.call)},
                              {"gap_us", json_of(world.gap)},
                              {"rendezvous_bytes", world.rendezvous_bytes},
                              {"fits", json_of(fits_of(world, seed))},
                              {"points", std::move(points)}});
  }
  return json;
}

std::vector<int> ranks_of(const CalibrateFlags& flags) {
  std::vector<int> ranks = flags.ranks;
  if (ranks.empty())
    ranks = joined() == nullptr ? std::vector{2, 4, 8} : std::vector{default_ranks()};
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (const int each : ranks) {
    check_ranks(each, most_real_ranks);
    if (each < 2)
      throw Error(ErrorKind::usage, "--ranks 1: expected 2 or more, that send to others");
  }
  return ranks;
}

}  // namespace

Profile measure_transport(Transport transport, const std::vector<int>& ranks,
                          const WorldFlags& flags, const PatternOptions& options) {
  Profile profile;
  profile.transport = name_of(transport);
  profile.dtype = options.dtype;
  profile.provenance = provenance_of_this_machine();
  StatusLine status;
  for (const int each : ranks) {
    status.show(fmt::format("measuring {} between {}", profile.transport, counted(each, "rank")));
    const auto world = make_world(transport, each, flags);
    MeasuredRanks measured = measure_ranks(*world, options);
    profile.provenance.push_back(
        {fmt::format("noise_{}_ranks", each), fmt::format("{:.1f} %", measured.noise * 100)});
    if (measured.noise > most_noise) {
      profile.remarks.push_back(
          fmt::format("NOT TO BE TRUSTED: with {} ranks, medians of two passes differ by {:.0f} %",
                      each, measured.noise * 100));
    }
    profile.remarks.push_back(summary_of(measured.profile));
    for (const Fit& fit : fits_of(measured.profile, options.seed)) {
      profile.remarks.push_back(text_of(fit, each));
    }
    profile.ranks.push_back(std::move(measured.profile));
  }
  return profile;
}

void calibrate(const CalibrateFlags& flags, Output& output) {
  const Transport transport =
      parse_transport(flags.transport, {Transport::shm, Transport::tcp, Transport::mpi});
  const std::vector<int> ranks = ranks_of(flags);
  PatternOptions options;
  options.dtype = parse_dtype(flags.dtype);
  options.largest_bytes = parse_size(flags.largest);
  options.rounds = flags.rounds;
  options.seed = flags.seed;
  Profile profile = measure_transport(transport, ranks, flags.world, options);
  profile.provenance.push_back(
      {"command", fmt::format("tutti calibrate --transport {} --ranks {} --dtype {} --largest {} "
                              "--rounds {} --seed {}",
                              flags.transport, fmt::join(ranks, ","), flags.dtype, flags.largest,
                              flags.rounds, flags.seed)});
  for (const std::string& remark : profile.remarks) {
    if (remark.starts_with("NOT")) warn(remark);
  }
  if (!flags.file.empty() && is_first_rank()) write_file(flags.file, write_profile(profile));
  if (flags.json) return output.line(json_of(profile, flags.seed).dump(2));
  if (flags.file.empty()) return output.line(write_profile(profile));
  output.print("# tutti calibrate: {} of {}, written to {}", profile.transport,
               name_of(profile.dtype), flags.file);
  for (const std::string& remark : profile.remarks) output.print("# {}", remark);
}

}  // namespace tutti
