// htsim: fat trees of two or three tiers of switches, as .topo files describe them to the
// datacenter simulators.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "topologies/import_text.hpp"
#include "topologies/import_yaml.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

constexpr std::int64_t most_tiers = 3;

const std::vector<std::string_view> keys_of_tier = {
    "downlink_speed_gbps", "radix_down",     "radix_up", "bundle",    "downlink_latency_ns",
    "switch_latency_ns",   "oversubscribed", "queue_up", "queue_down"};

/// What a tier of switches is like, from the hosts up; lines for errors.
struct Tier {
  int line = 0;
  double downlink_gbps = 0.0;
  std::int64_t radix_down = 0;
  std::int64_t radix_up = 0;
  std::int64_t bundle = 1;
  double downlink_latency_ns = -1.0;
  double switch_latency_ns = 0.0;
  double oversubscribed = 0.0;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

class HtsimFile {
 public:
  HtsimFile(std::string_view text, const std::string& origin) : origin_(origin) {
    for (LineReader reader(text); reader.next();) {
      const std::string_view line = reader.line();
      const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      key_place_ = reader.place_of(words[0]);
      value_place_ = words.size() < 2 ? key_place_ : reader.place_of(words[1]);
      read(words);
    }
    check_complete();
  }

  FatTreeSpec tree() {
    const std::int64_t tors = divided(pod_, tiers_[0].radix_down, 0, "podsize", "radix_down");
    const std::int64_t pods = divided(nodes_, pod_, 0, "nodes", "podsize");
    std::vector<std::int64_t> down = {tiers_[0].radix_down, tors};
    if (tiers_.size() == 2 && pods > 1) {
      refuse_import(origin_, {},
                    fmt::format("{} pods of 2 tiers do not reach each other, expected podsize {}",
                                pods, nodes_));
    }
    if (tiers_.size() == most_tiers) down.push_back(pods);
    FatTreeSpec spec;
    for (std::size_t level = 0; level < tiers_.size(); ++level) add_level(level, down, spec);
    check_size(spec);
    return spec;
  }

  ImportNotes& notes() { return notes_; }

 private:
  [[noreturn]] void refuse_key(std::string_view reason) const {
    refuse_import(origin_, key_place_, reason);
  }
  [[noreturn]] void refuse_value(std::string_view reason) const {
    refuse_import(origin_, value_place_, reason);
  }

  void read(const std::vector<std::string_view>& words) {
    const std::string key = lower(words[0]);
    if (words.size() != 2) {
      refuse_key(fmt::format("{} has {} values, expected one", quote(key), words.size() - 1));
    }
    if (key != "tier" && !seen_.insert({tiers_.size(), key}).second) {
      refuse_key(fmt::format("{} is given twice", quote(key)));
    }
    if (key == "nodes") {
      nodes_ = count(key, words[1], maximum_import_nodes);
    } else if (key == "podsize") {
      pod_ = count(key, words[1], maximum_import_nodes);
    } else if (key == "tiers") {
      tier_count_ = count(key, words[1], most_tiers);
      if (tier_count_ < 2) refuse_value("tiers: found 1, expected 2 or 3");
    } else if (key == "tier") {
      begin_tier(words[1]);
    } else if (tiers_.empty()) {
      refuse_key(fmt::format("found {}, {}", quote(key),
                             hint_for(key, {"nodes", "tiers", "podsize", "tier"})));
    } else {
      read_of_tier(key, words[1]);
    }
  }

  void begin_tier(std::string_view word) {
    if (whole_number(word) != static_cast<std::int64_t>(tiers_.size()) ||
        tiers_.size() == most_tiers) {
      refuse_value(fmt::format("tier: found {}, expected {}, in order from 0 to at most 2",
                               quote(word), tiers_.size()));
    }
    tiers_.emplace_back().line = key_place_.line;
  }

  void read_of_tier(const std::string& key, std::string_view word) {
    Tier& tier = tiers_.back();
    if (key == "downlink_speed_gbps") {
      tier.downlink_gbps = number(key, word);
      if (tier.downlink_gbps == 0.0) refuse_value(fmt::format("{}: zero", key));
    } else if (key == "radix_down") {
      tier.radix_down = count(key, word, maximum_import_nodes);
    } else if (key == "radix_up") {
      tier.radix_up = count(key, word, maximum_import_nodes);
    } else if (key == "bundle") {
      tier.bundle = count(key, word, maximum_import_nodes);
    } else if (key == "downlink_latency_ns") {
      tier.downlink_latency_ns = number(key, word);
    } else if (key == "switch_latency_ns") {
      tier.switch_latency_ns = number(key, word);
    } else if (key == "oversubscribed") {
      tier.oversubscribed = number(key, word);
    } else if (key == "queue_up" || key == "queue_down") {
      notes_.ignored(key_place_.line, "the sizes of queues");
    } else {
      refuse_key(fmt::format("found {}, {}", quote(key), hint_for(key, keys_of_tier)));
    }
  }

  std::int64_t count(std::string_view key, std::string_view word, std::int64_t most) const {
    const std::optional<std::int64_t> found = whole_number(word);
    if (found && *found >= 1 && *found <= most) return *found;
    refuse_value(
        fmt::format("{}: found {}, expected a whole number from 1 to {}", key, quote(word), most));
  }

  double number(std::string_view key, std::string_view word) const {
    constexpr double most = 1e15;
    const std::optional<double> found = decimal_number(word);
    if (found && *found >= 0.0 && *found <= most) return *found;
    refuse_value(fmt::format("{}: found {}, expected a number from 0", key, quote(word)));
  }

  void check_complete() {
    const auto require = [&](bool holds, int line, std::string_view key) {
      if (!holds) refuse_import(origin_, {line}, fmt::format("no key {}", key));
    };
    require(nodes_ > 0, 0, "nodes");
    require(tier_count_ > 0, 0, "tiers");
    require(pod_ > 0, 0, "podsize");
    if (tiers_.size() != static_cast<std::size_t>(tier_count_)) {
      refuse_import(origin_, {},
                    fmt::format("{} tiers are described, expected {}", tiers_.size(), tier_count_));
    }
    for (std::size_t index = 0; index < tiers_.size(); ++index) {
      Tier& tier = tiers_[index];
      const bool is_top = index + 1 == tiers_.size();
      require(tier.downlink_gbps > 0.0, tier.line, "downlink_speed_gbps in this tier");
      require(tier.radix_down > 0, tier.line, "radix_down in this tier");
      require(is_top || tier.radix_up > 0, tier.line, "radix_up in this tier");
      if (is_top && tier.radix_up > 0) notes_.ignored(tier.line, "radix_up of the topmost tier");
      if (tier.downlink_latency_ns >= 0.0) continue;
      notes_.assumed(tier.line, "1 us for the latency of the links, which htsim has by default");
      tier.downlink_latency_ns = 1000.0;
    }
    if (tiers_[0].bundle != 1) {
      refuse_import(origin_, {tiers_[0].line}, "hosts with a bundle of links, expected bundle 1");
    }
  }

  std::int64_t divided(std::int64_t whole, std::int64_t part, std::size_t tier,
                       std::string_view whole_key, std::string_view part_key) const {
    if (whole % part == 0) return whole / part;
    refuse_import(origin_, {tiers_[tier].line},
                  fmt::format("{} {} is no multiple of {} {}", whole_key, whole, part_key, part));
  }

  /// Level 0 is that of the hosts' links, to tier 0.
  void add_level(std::size_t level, const std::vector<std::int64_t>& down, FatTreeSpec& spec) {
    const Tier& tier = tiers_[level];
    std::int64_t up = 1;
    if (level > 0) {
      up = divided(tiers_[level - 1].radix_up, tier.bundle, level, "radix_up", "bundle");
      const std::int64_t expected = down[level] * tier.bundle;
      if (tier.radix_down != expected) {
        refuse_import(origin_, {tier.line},
                      fmt::format("radix_down {}, expected {} for {} switches below with bundles "
                                  "of {}",
                                  tier.radix_down, expected, down[level], tier.bundle));
      }
      note_oversubscription(level);
    }
    spec.down.push_back(static_cast<int>(down[level]));
    spec.up.push_back(static_cast<int>(up));
    spec.cables.push_back(static_cast<int>(tier.bundle));
    LinkSpec link;
    link.bandwidth_bytes_per_second = tier.downlink_gbps * 1e9 / 8;
    // A way up and down crosses the topmost switch once and those below it twice.
    const double below_ns = level > 0 ? tiers_[level - 1].switch_latency_ns : 0.0;
    link.latency_seconds =
        tier.downlink_latency_ns / 1e9 + (tier.switch_latency_ns + below_ns) / 2e9;
    note_odd_link(tier.line, link, notes_);
    spec.links.push_back(link);
  }

  void note_oversubscription(std::size_t level) {
    const Tier& below = tiers_[level - 1];
    const double actual = below.downlink_gbps * static_cast<double>(below.radix_down) /
                          (tiers_[level].downlink_gbps * static_cast<double>(below.radix_up));
    const double said = below.oversubscribed > 0.0 ? below.oversubscribed : 1.0;
    if (std::abs(said - actual) < 1e-9 * actual) return;
    notes_.suspicious(
        below.line,
        fmt::format("tier {} is oversubscribed {:.6g} to 1 by its radices and "
                    "speeds, but {}",
                    level - 1, actual,
                    below.oversubscribed > 0.0 ? fmt::format("the file says {:.6g}", said)
                                               : std::string("the file does not say so")));
  }

  void check_size(const FatTreeSpec& spec) const {
    double cables = 0.0, nodes_below = static_cast<double>(nodes_);
    for (std::size_t level = 0; level < spec.down.size(); ++level) {
      cables += nodes_below * spec.up[level] * spec.cables[level];
      nodes_below *= static_cast<double>(spec.up[level]) / spec.down[level];
    }
    if (cables <= static_cast<double>(maximum_import_cables)) return;
    refuse_import(origin_, {},
                  fmt::format("{:.6g} cables, expected at most {}", cables, maximum_import_cables));
  }

  std::string origin_;
  Place key_place_;  ///< Of the line that is read.
  Place value_place_;
  std::int64_t nodes_ = 0;
  std::int64_t pod_ = 0;
  std::int64_t tier_count_ = 0;
  std::vector<Tier> tiers_;
  std::set<std::pair<std::size_t, std::string>> seen_;  ///< Keys, by the number of tiers begun.
  ImportNotes notes_;
};

bool recognises_htsim(std::string_view text) {
  const std::string head = lower(text.substr(0, std::size_t{1} << 12));
  return head.find("\ntiers ") != std::string::npos || head.starts_with("tiers ");
}

Import import_htsim(std::string_view text, const std::string& origin) {
  HtsimFile file(text, origin);
  const FatTreeSpec spec = file.tree();
  std::string body = fmt::format("shape: fat_tree\ndown: {}\nup: {}\ncables: {}\nlinks:\n",
                                 yaml_list(spec.down), yaml_list(spec.up), yaml_list(spec.cables));
  for (const LinkSpec& link : spec.links) body += fmt::format("  - {}\n", yaml_link(link));
  file.notes().assumed(0,
                       "a message between pods takes one way, chosen by its destination; htsim "
                       "spreads packets");
  return make_import("htsim topology", origin, file.notes(), body);
}

}  // namespace

Importer htsim_importer() {
  return {"htsim", "htsim .topo, a fat tree", recognises_htsim, import_htsim};
}

}  // namespace tutti
