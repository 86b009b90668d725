#include "deploy/export_rules.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "collectives/error.hpp"
#include "deploy/best_map.hpp"
#include "deploy/library_names.hpp"
#include "deploy/mpich_defaults.hpp"

namespace tutti {
namespace {

using Json = nlohmann::ordered_json;
using Maps = std::vector<BestMap>;

// Results do not say what segments they were measured with.
constexpr std::size_t segment_bytes = 65536;

struct CollectiveNumber {
  std::string_view collective;
  int number;
  std::string_view openmpi;
  std::string_view mpich;
  std::string_view mpich_key;  ///< What it compares with sizes.
  bool is_per_rank;            ///< Whether that is the size of one rank's part.
};
constexpr std::array<CollectiveNumber, 8> collective_numbers = {
    {{"allgather", 0, "allgather", "allgather", "total_msg_size", false},
     {"allreduce", 2, "allreduce", "allreduce", "avg_msg_size", false},
     {"alltoall", 3, "alltoall", "alltoall", "avg_msg_size", true},
     {"broadcast", 7, "bcast", "bcast", "avg_msg_size", false},
     {"gather", 9, "gather", "gather", "avg_msg_size", true},
     {"reduce", 11, "reduce", "reduce", "avg_msg_size", false},
     {"reduce_scatter", 12, "reduce_scatter", "reduce_scatter", "total_msg_size", false},
     {"scatter", 15, "scatter", "scatter", "avg_msg_size", true}}};

const CollectiveNumber& number_of(std::string_view collective) {
  const auto found =
      std::find_if(collective_numbers.begin(), collective_numbers.end(),
                   [&](const CollectiveNumber& each) { return each.collective == collective; });
  check(found != collective_numbers.end(), "no number of {}", collective);
  return *found;
}

/// Of gather, scatter and alltoall libraries count one rank's part.
std::size_t part_bytes(const BestMap& map, std::size_t bytes) {
  const bool is_per_rank = number_of(map.collective).is_per_rank;
  return is_per_rank ? bytes / static_cast<std::size_t>(map.ranks) : bytes;
}

/// The last byte that a choice is for; nothing for the last choice.
std::optional<std::size_t> last_bytes(const BestMap& map, std::size_t index) {
  if (index + 1 == map.choices.size()) return std::nullopt;
  return part_bytes(map, map.choices[index + 1].first_bytes) - 1;
}

LibraryAlgorithm theirs(Library library, const BestMap& map, const SizeChoice& choice) {
  return counterpart(library, map.collective, choice.algorithm).value();
}

RuleExport openmpi_files(const Maps& maps) {
  std::map<int, std::vector<const BestMap*>> by_ranks;
  for (const BestMap& map : maps) by_ranks[map.ranks].push_back(&map);
  RuleExport result;
  result.notes.push_back(
      "Open MPI's classic rules are keyed on the collective and the bytes of a call (of one rank's "
      "part for alltoall, gather and scatter); a file for one number of ranks is taken for all "
      "communicators");
  for (const auto& [ranks, members] : by_ranks) {
    std::string text = fmt::format(
        "# Rules of Open MPI's module tuned, measured with {} ranks. Use:\n"
        "# mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename "
        "FILE\n{}  # collectives\n",
        ranks, members.size());
    for (const BestMap* map : members) {
      text += fmt::format("{}  # {}\n1  # communicator sizes\n{}  # ranks\n{}  # rules\n",
                          number_of(map->collective).number, map->collective, map->ranks,
                          map->choices.size());
      for (const SizeChoice& choice : map->choices) {
        const LibraryAlgorithm algorithm = theirs(Library::openmpi, *map, choice);
        text += fmt::format("{} {} 0 {}  # from these bytes on: {}\n",
                            part_bytes(*map, choice.first_bytes), algorithm.number,
                            algorithm.is_segmented ? segment_bytes : 0, algorithm.name);
      }
    }
    result.files.push_back({ranks, text});
  }
  return result;
}

RuleExport openmpi_json(const Maps& maps) {
  Json json = {{"rule_file_version", 3}, {"module", "tuned"}, {"collectives", Json::object()}};
  for (const BestMap& map : maps) {
    Json rules = Json::array();
    for (std::size_t i = 0; i < map.choices.size(); ++i) {
      const LibraryAlgorithm algorithm = theirs(Library::openmpi, map, map.choices[i]);
      const auto last = last_bytes(map, i);
      Json rule = {{"msg_size_min", part_bytes(map, map.choices[i].first_bytes)},
                   {"msg_size_max", last ? Json(*last) : Json("inf")},
                   {"alg", algorithm.name}};
      if (algorithm.is_segmented) rule["seg_size"] = segment_bytes;
      rules.push_back(std::move(rule));
    }
    json["collectives"][std::string(number_of(map.collective).openmpi)].push_back(
        {{"comm_size_min", map.ranks}, {"comm_size_max", map.ranks}, {"rules", std::move(rules)}});
  }
  return {
      {{0, json.dump(2) + "\n"}},
      {"Open MPI's JSON rules (6.0 and later) are keyed on the collective, exactly the measured "
       "numbers of ranks, and the bytes of a call"}};
}

Json mpich_sizes(const BestMap& map) {
  const std::string key(number_of(map.collective).mpich_key);
  Json sizes = Json::object();
  for (std::size_t i = 0; i < map.choices.size(); ++i) {
    const LibraryAlgorithm algorithm = theirs(Library::mpich, map, map.choices[i]);
    const auto last = last_bytes(map, i);
    sizes[last ? fmt::format("{}<={}", key, *last) : key + "=any"] = {
        {fmt::format("algorithm={}", algorithm.name), Json::object()}};
  }
  return sizes;
}

Json mpich_algorithm(std::string_view name) {
  return {{fmt::format("algorithm={}", name), Json::object()}};
}

/// The entry of a collective, with `sizes` (if any) in place of the algorithm that always works.
Json mpich_entry(const MpichDefault& always, const Json& sizes) {
  Json intra = sizes.empty() ? mpich_algorithm(always.algorithm) : sizes;
  if (!always.condition.empty()) {
    intra = {{fmt::format("{}=yes", always.condition), mpich_algorithm(always.algorithm)},
             {fmt::format("{}=no", always.condition), mpich_algorithm(always.otherwise)}};
    const bool is_for_yes = always.condition == "is_commutative";
    if (!sizes.empty())
      intra[fmt::format("{}={}", always.condition, is_for_yes ? "yes" : "no")] = sizes;
  }
  if (always.inter.empty()) return intra;
  return {{"comm_type=intra", intra}, {"comm_type=inter", mpich_algorithm(always.inter)}};
}

RuleExport mpich_file(const Maps& maps) {
  std::map<std::string_view, std::vector<const BestMap*>> by_collective;
  for (const BestMap& map : maps) by_collective[number_of(map.collective).mpich].push_back(&map);
  Json json = Json::object();
  for (const MpichDefault& always : mpich_defaults()) {
    Json sizes = Json::object();
    const auto found = by_collective.find(always.collective);
    if (found != by_collective.end()) {
      for (const BestMap* map : found->second) {
        const bool is_last = map == found->second.back();
        sizes[is_last ? "comm_size=any" : fmt::format("comm_size<={}", map->ranks)] =
            mpich_sizes(*map);
      }
    }
    json[fmt::format("collective={}", always.collective)] = mpich_entry(always, sizes);
  }
  return {{{0, json.dump(2) + "\n"}},
          {"MPICH's rules (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE) are keyed on the collective, "
           "the ranks of a communicator up to each measured number, and bytes: of the buffer, of "
           "one rank's part for alltoall; they replace all of MPICH's own, so that collectives "
           "without results get algorithms that always work"}};
}

RuleExport ucc_string(const Maps& maps) {
  std::string text;
  for (const BestMap& map : maps) {
    const std::string name = map.collective == "broadcast" ? "bcast" : map.collective;
    for (std::size_t i = 0; i < map.choices.size(); ++i) {
      const auto last = last_bytes(map, i);
      text += fmt::format("{}{}:{}-{}:[{}-{}]:inf:@{}", text.empty() ? "" : "#", name,
                          part_bytes(map, map.choices[i].first_bytes),
                          last ? std::to_string(*last) : "inf", map.ranks, map.ranks,
                          theirs(Library::ucc, map, map.choices[i]).name);
    }
  }
  return {{{0, "UCC_TL_UCP_TUNE=" + text + "\n"}},
          {"UCC's string is keyed on the collective, the bytes and exactly the measured numbers of "
           "ranks; it is for the transport layer UCP and all kinds of memory"}};
}

RuleExport nccl_file(const Maps& maps) {
  std::string text =
      "# Rules of NCCL's example tuner plugin (NCCL_TUNER_PLUGIN, NCCL_TUNER_CONFIG_FILE):\n"
      "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks\n";
  RuleExport result;
  for (const BestMap& map : maps) {
    const std::string name = map.collective == "reduce_scatter" ? "reducescatter" : map.collective;
    for (std::size_t i = 0; i < map.choices.size(); ++i) {
      const auto last = last_bytes(map, i);
      text += fmt::format("{},{},{},{},simple,-1,{},{}\n", name, map.choices[i].first_bytes,
                          last.value_or(SIZE_MAX), theirs(Library::nccl, map, map.choices[i]).name,
                          map.nodes > 0 ? map.nodes : -1, map.ranks);
    }
  }
  result.files.push_back({0, text});
  result.notes = {
      "NCCL's rules are keyed on the collective, the bytes, the nodes (-1: any) and exactly the "
      "measured numbers of ranks",
      "the protocol is simple and the channels are NCCL's own: results do not say them"};
  return result;
}

RuleExport simgrid_options(const Maps& maps) {
  std::string text;
  RuleExport result;
  std::map<std::string, int> ranks;
  for (const BestMap& map : maps) {
    const std::string_view name =
        map.collective == "broadcast" ? std::string_view("bcast") : map.collective;
    const auto [first, is_new] = ranks.try_emplace(map.collective, map.ranks);
    if (!is_new) {
      result.notes.push_back(
          fmt::format("{} has one algorithm for all numbers of ranks: that of "
                      "{} is taken, that of {} left out",
                      map.collective, first->second, map.ranks));
      continue;
    }
    text +=
        fmt::format("--cfg=smpi/{}:{}\n", name, theirs(Library::simgrid, map, map.choices[0]).name);
  }
  result.files.push_back({0, text});
  result.notes.push_back(
      "SMPI's options are keyed on the collective alone: for each the algorithm that loses least "
      "over all sizes");
  return result;
}

struct RuleFormat {
  std::string_view name;
  Library library;
  RuleExport (*write)(const Maps& maps);
};
constexpr std::array<RuleFormat, 6> formats = {{{"openmpi", Library::openmpi, openmpi_files},
                                                {"openmpi-json", Library::openmpi, openmpi_json},
                                                {"mpich", Library::mpich, mpich_file},
                                                {"ucc", Library::ucc, ucc_string},
                                                {"nccl", Library::nccl, nccl_file},
                                                {"simgrid", Library::simgrid, simgrid_options}}};

const RuleFormat& format_named(std::string_view name) {
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const RuleFormat& format) { return format.name == name; });
  if (found != formats.end()) return *found;
  throw Error(ErrorKind::usage, fmt::format("unknown format '{}', expected one of {}", name,
                                            fmt::join(rule_formats(), ", ")));
}

void check_known(const std::vector<MeasuredCurve>& curves) {
  for (const MeasuredCurve& curve : curves) {
    const Series& series = curve.series;
    if (series.ranks > 0 && !series.collective.empty()) continue;
    throw Error(ErrorKind::usage,
                fmt::format("'{}': rules need the {}, which the results do not say; say it with {}",
                            series.describe(), series.ranks > 0 ? "collective" : "number of ranks",
                            series.ranks > 0 ? "--collective" : "--ranks"));
  }
}

void note_losses(const Maps& maps, RuleExport& result) {
  for (const BestMap& map : maps) {
    std::string text = fmt::format(
        "{} on {} ranks: {:.1f} % slower than the best on average, "
        "{:.1f} % at most",
        map.collective, map.ranks, map.mean_regret * 100, map.largest_regret * 100);
    if (!map.left_out.empty()) {
      text += fmt::format("; without a counterpart, but best somewhere: {}",
                          fmt::join(map.left_out, ", "));
    }
    result.notes.push_back(std::move(text));
  }
}

void note_unknown(const std::vector<MeasuredCurve>& curves, const Maps& maps, Library library,
                  RuleExport& result) {
  std::map<std::pair<std::string, int>, bool> is_there;
  for (const MeasuredCurve& curve : curves) {
    is_there.try_emplace({curve.series.collective, curve.series.ranks}, false);
  }
  for (const BestMap& map : maps) is_there[{map.collective, map.ranks}] = true;
  for (const auto& [key, has_rules] : is_there) {
    if (has_rules) continue;
    result.notes.push_back(fmt::format(
        "no rules for {} on {} ranks: none of its algorithms has a counterpart (those that have: "
        "{})",
        key.first, key.second, algorithms_known(library, key.first)));
  }
}

}  // namespace

const std::vector<std::string_view>& rule_formats() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const RuleFormat& format : formats) all.push_back(format.name);
    return all;
  }();
  return names;
}

RuleExport export_rules(std::string_view name, const std::vector<MeasuredCurve>& curves,
                        double noise) {
  const RuleFormat& format = format_named(name);
  check_known(curves);
  const auto allowed = [&](const std::string& collective, const std::string& algorithm) {
    return counterpart(format.library, collective, algorithm).has_value();
  };
  const Maps maps = format.library == Library::simgrid ? best_constants(curves, allowed)
                                                       : best_maps(curves, allowed, noise);
  if (maps.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("no algorithm of these results has a counterpart in {}", name));
  }
  RuleExport result = format.write(maps);
  note_losses(maps, result);
  note_unknown(curves, maps, format.library, result);
  return result;
}

}  // namespace tutti
