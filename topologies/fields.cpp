#include "topologies/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "topologies/units.hpp"

namespace tutti {
namespace {

std::string_view name_of(DocumentNode::Kind kind) {
  switch (kind) {
    case DocumentNode::Kind::empty:
      return "nothing";
    case DocumentNode::Kind::word:
      return "a single value";
    case DocumentNode::Kind::list:
      return "a list";
    case DocumentNode::Kind::map:
      break;
  }
  return "a set of keys";
}

std::string mismatch(const DocumentNode& node, std::string_view expected) {
  const std::string text =
      node.kind == DocumentNode::Kind::word ? fmt::format(" {}", quote(node.text)) : "";
  return fmt::format("{}{}, expected {}", name_of(node.kind), text, expected);
}

}  // namespace

std::int64_t parse_whole(std::string_view text, std::int64_t smallest, std::int64_t largest) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status == std::errc{} && rest == end && value >= smallest && value <= largest) return value;
  throw ShapeError(
      fmt::format("{} is not a whole number from {} to {}", quote(text), smallest, largest));
}

Fields::Fields(const Sources& sources, const DocumentNode& node, std::string path)
    : sources_(sources), map_(node), path_(std::move(path)) {
  if (node.kind != DocumentNode::Kind::map) fail_at(node, "", mismatch(node, "'key: value' lines"));
}

void Fields::check_keys(const std::vector<std::string_view>& valid) const {
  std::vector<const DocumentNode*> seen;
  for (const DocumentNode& child : map_.children) {
    const std::string inside = path_.empty() ? "" : fmt::format(" in {}", path_);
    if (std::find(valid.begin(), valid.end(), child.key) == valid.end()) {
      throw ShapeError(fmt::format("{}: unknown key {}{}, {}", sources_.where(child.key_mark),
                                   quote(child.key), inside, hint_for(child.key, valid)));
    }
    const auto same = [&](const DocumentNode* other) { return other->key == child.key; };
    const auto earlier = std::find_if(seen.begin(), seen.end(), same);
    if (earlier != seen.end()) {
      throw ShapeError(fmt::format("{}: {} is given twice, first at {}",
                                   sources_.where(child.key_mark), path_of(child.key),
                                   sources_.where((*earlier)->key_mark)));
    }
    seen.push_back(&child);
  }
}

const DocumentNode& Fields::value(std::string_view key) const {
  const DocumentNode* const found = map_.find(key);
  if (found == nullptr) fail_at(map_, "", fmt::format("the key '{}' is missing", key));
  return *found;
}

const std::string& Fields::word(std::string_view key) const {
  const DocumentNode& node = value(key);
  if (node.kind != DocumentNode::Kind::word) fail(key, mismatch(node, "a single value"));
  return node.text;
}

std::int64_t Fields::whole(std::string_view key, std::int64_t smallest,
                           std::int64_t largest) const {
  return parsed(key, [&](std::string_view text) { return parse_whole(text, smallest, largest); });
}

int Fields::count(std::string_view key, int smallest) const {
  return static_cast<int>(whole(key, smallest, maximum_hosts));
}

double Fields::number(std::string_view key) const {
  return parsed(key, [](std::string_view text) {
    double value = 0.0;
    const char* const end = text.data() + text.size();
    const auto [rest, status] = std::from_chars(text.data(), end, value);
    if (status == std::errc{} && rest == end && std::isfinite(value) && value > 0.0) return value;
    throw ShapeError(fmt::format("{} is not a number greater than zero", quote(text)));
  });
}

double Fields::bandwidth(std::string_view key) const {
  return parsed(key, parse_bandwidth);
}
double Fields::duration(std::string_view key) const {
  return parsed(key, parse_duration);
}
Fields Fields::fields(std::string_view key) const {
  return {sources_, value(key), path_of(key)};
}

const std::vector<DocumentNode>& Fields::list(std::string_view key) const {
  static const std::vector<DocumentNode> none;
  if (!has(key)) return none;
  const DocumentNode& node = value(key);
  if (node.kind != DocumentNode::Kind::list) fail(key, mismatch(node, "a list"));
  return node.children;
}

std::vector<int> Fields::counts(std::string_view key, int smallest) const {
  std::vector<int> counts;
  const auto add = [&](const DocumentNode& node, std::string_view text) {
    try {
      counts.push_back(static_cast<int>(parse_whole(text, smallest, maximum_hosts)));
    } catch (const ShapeError& error) {
      fail_at(node, key, error.what());
    }
  };
  const DocumentNode& node = value(key);
  if (node.kind == DocumentNode::Kind::word) {
    std::string_view rest = node.text;
    for (std::size_t end = rest.find('x'); end != std::string_view::npos; end = rest.find('x')) {
      add(node, rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    add(node, rest);
    return counts;
  }
  if (node.kind != DocumentNode::Kind::list) {
    fail(key, mismatch(node, "a list such as [4, 4] or 4x4"));
  }
  for (std::size_t index = 0; index < node.children.size(); ++index) {
    add(node.children[index], element_word(key, index));
  }
  if (counts.empty()) fail(key, "an empty list, expected numbers such as [4, 4] or 4x4");
  return counts;
}

std::size_t Fields::choice(std::string_view key, const std::vector<std::string_view>& valid) const {
  const std::string& text = word(key);
  const auto found = std::find(valid.begin(), valid.end(), text);
  if (found == valid.end()) {
    fail(key, fmt::format("unknown value {}, {}", quote(text), hint_for(text, valid)));
  }
  return static_cast<std::size_t>(found - valid.begin());
}

Fields Fields::element_fields(std::string_view key, std::size_t index) const {
  return {sources_, list(key)[index], fmt::format("{}[{}]", path_of(key), index)};
}

const std::string& Fields::element_word(std::string_view key, std::size_t index) const {
  const DocumentNode& node = list(key)[index];
  if (node.kind != DocumentNode::Kind::word) fail_at(node, key, mismatch(node, "a single value"));
  return node.text;
}

void Fields::fail(std::string_view key, std::string_view what) const {
  fail_at(value(key), key, what);
}

void Fields::fail_at(const DocumentNode& node, std::string_view key, std::string_view what) const {
  // A key without a value ends where the next key begins.
  const bool is_empty = node.kind == DocumentNode::Kind::empty;
  const std::string where = sources_.where(is_empty ? node.key_mark : node.mark);
  const std::string path = path_of(key);
  throw ShapeError(path.empty() ? fmt::format("{}: {}", where, what)
                                : fmt::format("{}: {}: {}", where, path, what));
}

namespace {

/// The part of a map that "links[3]" names; null if there is none.
const DocumentNode* part_of(const DocumentNode& map, std::string_view name) {
  const std::size_t bracket = std::min(name.find('['), name.size());
  const DocumentNode* const value = map.find(name.substr(0, bracket));
  if (value == nullptr || bracket == name.size()) return value;
  std::size_t index = 0;
  const auto [rest, status] =
      std::from_chars(name.data() + bracket + 1, name.data() + name.size(), index);
  if (status != std::errc{} || index >= value->children.size()) return value;
  return &value->children[index];
}

}  // namespace

void Fields::fail_building(const std::string& what) const {
  const std::size_t end = what.find('\'', 1);
  const DocumentNode* culprit = &map_;
  if (what.starts_with('\'') && end != std::string::npos) {
    std::string_view keys = std::string_view(what).substr(1, end - 1);
    const DocumentNode* next = &map_;
    while (!keys.empty() && (next = part_of(*next, keys.substr(0, keys.find('.')))) != nullptr) {
      culprit = next;
      keys.remove_prefix(std::min(keys.find('.'), keys.size() - 1) + 1);
    }
  }
  fail_at(*culprit, "", what);
}

std::string Fields::path_of(std::string_view key) const {
  if (path_.empty() || key.empty()) return path_ + std::string(key);
  return fmt::format("{}.{}", path_, key);
}

}  // namespace tutti
