// Profiles as YAML.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "profiles/profile.hpp"
#include "topologies/document.hpp"
#include "topologies/shape.hpp"

namespace tutti {
namespace {

constexpr std::string_view version = "1";
constexpr std::size_t point_numbers = 2 + 3 * curves;
constexpr int most_ranks = 1 << 20;

// Under double quotes, whatever it holds.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    result += is_control ? ' ' : c;
  }
  return result + '"';
}

std::string microseconds(const Estimate& estimate) {
  return fmt::format("{:.5g}, {:.5g}, {:.5g}", estimate.seconds * 1e6, estimate.low_seconds * 1e6,
                     estimate.high_seconds * 1e6);
}

std::string points_text(const RankProfile& world) {
  std::string text = "    # buffer and message in bytes, then by three:";
  for (std::size_t i = 0; i < curves; ++i) {
    text += fmt::format(" {}", name_of(static_cast<Curve>(i)));
  }
  text += "\n    points:\n";
  for (const ProfilePoint& point : world.points) {
    text += fmt::format("      - [{}, {}", point.buffer_bytes, point.message_bytes);
    for (const Estimate& time : point.times) text += ", " + microseconds(time);
    text += "]\n";
  }
  return text;
}

class Reader {
 public:
  Reader(const std::string& text, const std::string& file)
      : source_(sources_.add(file)), root_(parse_document(text, sources_, source_)) {}

  Profile read() const {
    if (text_of(child(root_, "profile")) != version) {
      throw error(child(root_, "profile"), fmt::format("expected version {} of profiles", version));
    }
    Profile profile;
    profile.transport = text_of(child(root_, "transport"));
    const DocumentNode& dtype = child(root_, "dtype");
    try {
      profile.dtype = parse_dtype(text_of(dtype));
    } catch (const std::exception& failure) {
      throw error(dtype, failure.what());
    }
    if (const DocumentNode* provenance = root_.find("provenance")) {
      for (const DocumentNode& each : provenance->children) {
        profile.provenance.push_back({each.key, each.text});
      }
    }
    for (const DocumentNode& each : list(child(root_, "worlds"))) {
      RankProfile world = read_world(each);
      if (!profile.ranks.empty() && world.ranks <= profile.ranks.back().ranks) {
        throw error(each, "worlds must come by ascending ranks, each once");
      }
      profile.ranks.push_back(std::move(world));
    }
    return profile;
  }

 private:
  ShapeError error(const DocumentNode& node, const std::string& what) const {
    return ShapeError(fmt::format("{}: {}", sources_.where(node.mark), what));
  }

  const DocumentNode& child(const DocumentNode& node, std::string_view key) const {
    const DocumentNode* found = node.find(key);
    if (found == nullptr) throw error(node, fmt::format("expected a key '{}'", key));
    return *found;
  }

  const std::string& text_of(const DocumentNode& node) const {
    if (node.kind != DocumentNode::Kind::word) throw error(node, "expected a word");
    return node.text;
  }

  const std::vector<DocumentNode>& list(const DocumentNode& node) const {
    if (node.kind != DocumentNode::Kind::list || node.children.empty()) {
      throw error(node, "expected a list that is not empty");
    }
    return node.children;
  }

  double number(const DocumentNode& node, double most) const {
    const std::string& text = text_of(node);
    double value = 0.0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_whole_text = status == std::errc{} && end == text.data() + text.size();
    if (!is_whole_text || !(value >= 0.0) || value > most) {
      throw error(node, fmt::format("'{}' is no number from 0 to {:g}", text, most));
    }
    return value;
  }

  std::size_t bytes(const DocumentNode& node) const {
    const double value = number(node, 0x1p50);
    if (value != std::floor(value)) throw error(node, "expected whole bytes");
    return static_cast<std::size_t>(value);
  }

  Estimate estimate(std::span<const DocumentNode> numbers) const {
    constexpr double most_microseconds = 1e12;
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = number(numbers[i], most_microseconds) / 1e6;
    }
    if (values[1] > values[0] || values[0] > values[2]) {
      throw error(numbers[0], "expected a value between the two behind it");
    }
    return {values[0], values[1], values[2]};
  }

  Estimate estimate_at(const DocumentNode& node) const {
    if (list(node).size() != 3) throw error(node, "expected 3 numbers");
    return estimate(node.children);
  }

  ProfilePoint point(const DocumentNode& node) const {
    const std::vector<DocumentNode>& numbers = list(node);
    if (numbers.size() != point_numbers) {
      throw error(node, fmt::format("{} numbers, expected {}", numbers.size(), point_numbers));
    }
    ProfilePoint result{bytes(numbers[0]), bytes(numbers[1])};
    if (result.buffer_bytes == 0 || result.message_bytes == 0) {
      throw error(node, "expected more than 0 bytes");
    }
    for (std::size_t i = 0; i < curves; ++i) {
      result.times[i] = estimate(std::span(numbers).subspan(2 + 3 * i, 3));
    }
    if (result.time(Curve::alone).seconds <= 0.0 || result.time(Curve::loaded).seconds <= 0.0) {
      throw error(node, "expected messages that take time");
    }
    return result;
  }

  RankProfile read_world(const DocumentNode& node) const {
    RankProfile world;
    const DocumentNode& ranks = child(node, "ranks");
    const double count = number(ranks, most_ranks);
    if (count < 2 || count != std::floor(count)) throw error(ranks, "expected 2 ranks or more");
    world.ranks = static_cast<int>(count);
    world.call = estimate_at(child(node, "call"));
    world.gap = estimate_at(child(node, "gap"));
    world.rendezvous_bytes = bytes(child(node, "rendezvous_bytes"));
    for (const DocumentNode& each : list(child(node, "points"))) {
      const ProfilePoint next = point(each);
      if (!world.points.empty()) {
        const ProfilePoint& last = world.points.back();
        const bool is_above =
            next.buffer_bytes > last.buffer_bytes ||
            (next.buffer_bytes == last.buffer_bytes && next.message_bytes > last.message_bytes);
        if (!is_above) throw error(each, "points must come by ascending buffer, then message");
      }
      world.points.push_back(next);
    }
    return world;
  }

  Sources sources_;
  int source_;
  DocumentNode root_;
};

}  // namespace

std::string write_profile(const Profile& profile) {
  std::string text =
      "# What messages and local work take, for predictions: --profile of tutti's commands.\n"
      "# Times are microseconds: a median, then the ends of its 90 % interval.\n";
  for (const std::string& remark : profile.remarks) text += "# " + remark + "\n";
  text += fmt::format("profile: {}\ntransport: {}\ndtype: {}\n", version, quoted(profile.transport),
                      name_of(profile.dtype));
  if (!profile.provenance.empty()) text += "provenance:\n";
  for (const ProvenanceEntry& entry : profile.provenance) {
    text += fmt::format("  {}: {}\n", entry.key, quoted(entry.value));
  }
  text += "worlds:\n";
  for (const RankProfile& world : profile.ranks) {
    text += fmt::format("  - ranks: {}\n", world.ranks);
    text += fmt::format("    call: [{}]  # besides messages and work\n", microseconds(world.call));
    text += fmt::format("    gap: [{}]  # between small messages of one sender\n",
                        microseconds(world.gap));
    text += fmt::format("    rendezvous_bytes: {}  # from here on senders wait for receivers\n",
                        world.rendezvous_bytes);
    text += points_text(world);
  }
  return text;
}

Profile read_profile(const std::string& text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace tutti
