#include "topologies/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "topologies/shape.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

/// Builds the tree from the parser's events, without recursion.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Sources& sources, int source, std::size_t maximum_nodes)
      : sources_(sources), source_(source), maximum_nodes_(maximum_nodes) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(mark_of(mark), "a second document begins, expected one");
  }
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark_of(mark), "an alias (*), which shapes cannot use; write the value out");
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, "", anchor, DocumentNode::Kind::empty);
    end();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    begin(mark, tag, anchor, DocumentNode::Kind::word);
    open_.back().text = value;
    end();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, DocumentNode::Kind::list);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, DocumentNode::Kind::map);
    keys_.emplace_back();
  }
  void OnMapEnd() override {
    keys_.pop_back();
    end();
  }

  DocumentNode take() && { return std::move(root_); }

 private:
  [[noreturn]] void fail(const Mark& mark, std::string_view what) const {
    throw ShapeError(fmt::format("{}: {}", sources_.where(mark), what));
  }

  Mark mark_of(const YAML::Mark& mark) const { return {source_, mark.line + 1, mark.column + 1}; }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
             DocumentNode::Kind kind) {
    const Mark here = mark_of(mark);
    if (anchor != YAML::NullAnchor) {
      fail(here, "an anchor (&), which shapes cannot use; write the value out");
    }
    // The parser's names for values without a tag of their own.
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(here, fmt::format("the tag {}, which shapes cannot use", quote(tag)));
    }
    if (open_.size() == maximum_document_depth) {
      fail(here, fmt::format("more than {} values in each other", maximum_document_depth));
    }
    if (++nodes_ > maximum_nodes_) {
      fail(here, fmt::format("more than {} values, which no shape needs", maximum_nodes_));
    }
    DocumentNode node;
    node.kind = kind;
    node.mark = node.key_mark = here;
    open_.push_back(std::move(node));
  }

  void end() {
    DocumentNode node = std::move(open_.back());
    open_.pop_back();
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    DocumentNode& parent = open_.back();
    if (parent.kind == DocumentNode::Kind::map) {
      std::optional<DocumentNode>& key = keys_.back();
      if (!key) {
        if (node.kind != DocumentNode::Kind::word) fail(node.mark, "a key is not a word");
        key = std::move(node);
        return;
      }
      node.key = std::move(key->text);
      node.key_mark = key->mark;
      key.reset();
    }
    parent.children.push_back(std::move(node));
  }

  const Sources& sources_;
  int source_;
  std::size_t maximum_nodes_;
  int documents_ = 0;
  std::size_t nodes_ = 0;
  std::vector<DocumentNode> open_;                 // From the root to the value that is being read.
  std::vector<std::optional<DocumentNode>> keys_;  // Of each open map, the key without value yet.
  DocumentNode root_;
};

bool is_mark(char character) {
  constexpr std::string_view marks = "[{,:?!&*'\"";
  return marks.find(character) != std::string_view::npos;
}

/// Refuses what the parser would take for the end of the text or for another encoding, or hold.
void check_characters(std::string_view text, const Sources& sources, int source) {
  Mark mark{source, 1, 1};
  int marks = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_blank = byte == '\t' || byte == '\n' || byte == '\r';
    if ((byte < 0x20 && !is_blank) || byte == 0x7f || byte >= 0xf8) {
      throw ShapeError(
          fmt::format("{}: the byte 0x{:02x}, expected text in UTF-8", sources.where(mark), byte));
    }
    // The parser holds what it read of a line, and of brackets, as it may turn out to be a key.
    if (is_mark(character) && ++marks > maximum_document_marks) {
      throw ShapeError(fmt::format("{}: more than {} brackets, commas, colons and quotes",
                                   sources.where(mark), maximum_document_marks));
    }
    if (++mark.column > maximum_line_bytes) {
      throw ShapeError(fmt::format("{}: a line of more than {} bytes, expected shorter ones",
                                   sources.where({source, mark.line, 1}), maximum_line_bytes));
    }
    if (byte == '\n') mark = {source, mark.line + 1, 1};
  }
}

}  // namespace

int Sources::add(std::string name) {
  names_.push_back(std::move(name));
  return static_cast<int>(names_.size()) - 1;
}

std::string Sources::where(const Mark& mark) const {
  const std::string shown_name = shown_path(name(mark.source));
  if (mark.line == 0) return shown_name;
  return fmt::format("{}:{}:{}", shown_name, mark.line, mark.column);
}

const DocumentNode* DocumentNode::find(std::string_view wanted) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const DocumentNode& child) { return child.key == wanted; });
  return kind == Kind::map && found != children.end() ? &*found : nullptr;
}

DocumentNode* DocumentNode::find(std::string_view wanted) {
  return const_cast<DocumentNode*>(std::as_const(*this).find(wanted));
}

DocumentNode parse_document(std::string_view text, const Sources& sources, int source,
                            std::size_t maximum_nodes) {
  if (text.size() > maximum_document_bytes) {
    throw ShapeError(fmt::format("{}: larger than {} bytes, which no shape needs",
                                 sources.where({source}), maximum_document_bytes));
  }
  check_characters(text, sources, source);
  TreeBuilder builder(sources, source, maximum_nodes);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const Mark mark{source, error.mark.line + 1, error.mark.column + 1};
    throw ShapeError(fmt::format("{}: not valid YAML: {}", sources.where(mark), error.msg));
  }
  DocumentNode root = std::move(builder).take();
  if (root.mark.line == 0) root.mark = root.key_mark = {source, 1, 1};
  return root;
}

std::string read_source(const std::string& file, std::size_t maximum_bytes) {
  const std::string name = shown_path(file);
  // The opening of a named pipe would wait for a writer.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw ShapeError(fmt::format("{}: cannot be read, is it a file?", name));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw ShapeError(
        fmt::format("{}: cannot be opened: {}", name, std::generic_category().message(errno)));
  }
  const auto refuse_larger = [&](std::uintmax_t bytes) {
    if (bytes <= maximum_bytes) return;
    throw ShapeError(
        fmt::format("{}: larger than {} bytes, which no shape needs", name, maximum_bytes));
  };
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (error) throw ShapeError(fmt::format("{}: cannot be read: {}", name, error.message()));
  refuse_larger(bytes);
  // Files of /proc have no size, and others may have grown.
  std::string text(static_cast<std::size_t>(std::max<std::uintmax_t>(bytes, 4096)) + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) throw ShapeError(fmt::format("{}: cannot be read", name));
  refuse_larger(text.size());
  if (!stream.eof()) throw ShapeError(fmt::format("{}: changed while it was read", name));
  return text;
}

}  // namespace tutti
