#include "topologies/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "topologies/fields.hpp"

namespace tutti {
namespace {

[[noreturn]] void fail_setting(const std::string& setting, std::string_view what) {
  throw ShapeError(fmt::format("--set {}: {}", shown(setting), what));
}

/// One step of a path: the child, or null.
DocumentNode* step(DocumentNode& node, std::string_view key) {
  if (node.kind != DocumentNode::Kind::list) return node.find(key);
  const auto last = static_cast<std::int64_t>(node.children.size()) - 1;
  try {
    return &node.children[static_cast<std::size_t>(parse_whole(key, 0, last))];
  } catch (const ShapeError&) {
    return nullptr;
  }
}

/// The child of that key, made if it is missing; whatever single value is in the way makes place.
DocumentNode& forced_step(DocumentNode& node, std::string_view key, const Mark& mark,
                          const std::string& setting) {
  if (DocumentNode* const child = step(node, key)) return *child;
  if (node.kind == DocumentNode::Kind::list) {
    fail_setting(setting, fmt::format("{} is no element of a list of {}, expected 0 to {}",
                                      quote(key), node.children.size(),
                                      static_cast<std::int64_t>(node.children.size()) - 1));
  }
  if (node.kind != DocumentNode::Kind::map) {
    node.kind = DocumentNode::Kind::map;
    node.mark = mark;
    node.text.clear();
  }
  DocumentNode& child = node.children.emplace_back();
  child.key = key;
  child.mark = child.key_mark = mark;
  return child;
}

void set_marks(DocumentNode& node, const Mark& mark) {
  node.mark = node.key_mark = mark;
  for (DocumentNode& child : node.children) set_marks(child, mark);
}

DocumentNode parse_value(std::string_view value, const Sources& sources, const Mark& mark) {
  DocumentNode node;
  if (value.starts_with('[') || value.starts_with('{')) {
    node = parse_document(value, sources, mark.source);
  } else {
    node.kind = DocumentNode::Kind::word;
    node.text = value;
  }
  set_marks(node, mark);
  return node;
}

/// The file that the host is to come from, or null.
const DocumentNode* included_file(const DocumentNode& host, const Sources& sources) {
  if (host.kind != DocumentNode::Kind::map || host.find("file") == nullptr) return nullptr;
  const Fields fields(sources, host, "host");
  fields.check_keys({"file"});
  fields.word("file");
  return host.find("file");
}

}  // namespace

void apply_setting(DocumentNode& root, Sources& sources, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail_setting(setting, "expected KEY=VALUE, such as hosts=64 or links.spine.bandwidth=50%");
  }
  const Mark mark{sources.add(fmt::format("--set {}", shown(setting)))};
  std::string_view path = std::string_view(setting).substr(0, equals);
  DocumentNode* node = &root;
  for (std::size_t depth = 1, dot = 0; dot != std::string_view::npos; ++depth) {
    if (depth > maximum_document_depth) fail_setting(setting, "too many keys in each other");
    dot = path.find('.');
    if (dot == 0 || path.empty())
      fail_setting(setting, "an empty key, expected such as host.cores=2");
    node = &forced_step(*node, path.substr(0, dot), mark, setting);
    if (dot != std::string_view::npos) path.remove_prefix(dot + 1);
  }
  DocumentNode value = parse_value(std::string_view(setting).substr(equals + 1), sources, mark);
  value.key = node->key;
  *node = std::move(value);
}

bool has_key_of(DocumentNode& root, const std::string& setting) {
  std::string_view path = std::string_view(setting).substr(0, setting.find('='));
  DocumentNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    node = step(*node, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node != nullptr;
}

void include_files(DocumentNode& root, Sources& sources) {
  std::vector<std::string> chain;
  for (DocumentNode* host = root.find("host"); host != nullptr; host = host->find("host")) {
    const DocumentNode* const file = included_file(*host, sources);
    if (file == nullptr) continue;
    const Mark mark = file->mark;
    const bool is_setting = mark.line == 0;
    const std::filesystem::path from = is_setting ? "" : sources.name(mark.source);
    const std::string path = (from.parent_path() / file->text).lexically_normal().string();
    const auto fail = [&](std::string_view what) {
      throw ShapeError(fmt::format("{}: host.file: {}", sources.where(mark), what));
    };
    if (std::find(chain.begin(), chain.end(), path) != chain.end()) {
      fail(fmt::format("{} includes itself", shown_path(path)));
    }
    if (chain.size() == maximum_shapes_in_each_other) {
      fail(fmt::format("more than {} files in each other", maximum_shapes_in_each_other));
    }
    chain.push_back(path);
    DocumentNode content;
    try {
      content = parse_document(read_source(path), sources, sources.add(path));
    } catch (const ShapeError& error) {
      fail(error.what());
    }
    content.key = host->key;
    content.key_mark = host->key_mark;
    *host = std::move(content);
  }
}

}  // namespace tutti
