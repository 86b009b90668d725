#include "collectives/goal_graph.hpp"

#include <charconv>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "collectives/error.hpp"

namespace tutti {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 50;
constexpr std::uint64_t most_nanoseconds = std::uint64_t{1} << 60;
constexpr std::uint64_t most_tag = (std::uint64_t{1} << 32) - 1;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Splits the text into words, numbers and signs; a line feed is a token of its own.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { advance(); }

  std::string_view current() const { return current_; }
  std::size_t line() const { return line_; }
  bool at_end() const { return current_.empty(); }
  bool at_line_end() const { return at_end() || current_ == "\n"; }

  std::string_view take() {
    const std::string_view taken = current_;
    advance();
    return taken;
  }

  bool take_if(std::string_view expected) {
    if (current_ != expected) return false;
    advance();
    return true;
  }

  void skip_line_ends() {
    while (take_if("\n")) {
    }
  }

  [[noreturn]] void fail(std::string_view expected) const {
    const std::string found = at_end()           ? "the end of the text"
                              : current_ == "\n" ? "the end of the line"
                                                 : fmt::format("'{}'", printable(current_));
    throw Error(ErrorKind::usage,
                fmt::format("line {}: found {}, expected {}", line_, found, expected));
  }

 private:
  static std::string printable(std::string_view token) {
    std::string text;
    for (const char c : token.substr(0, 40)) text += c >= ' ' && c <= '~' ? c : '?';
    return text;
  }

  void advance() {
    if (current_ == "\n") ++line_;
    position_ += current_.size();
    skip_blanks();
    std::size_t length = position_ < text_.size() ? 1 : 0;
    if (length == 1) {
      const char first = text_[position_];
      const bool is_number = is_digit(first) || first == '-';
      if (is_number || is_letter(first)) {
        while (position_ + length < text_.size() && belongs(text_[position_ + length], is_number)) {
          ++length;
        }
      }
    }
    current_ = text_.substr(position_, length);
  }

  static bool belongs(char c, bool to_number) {
    return is_digit(c) || (!to_number && (is_letter(c) || c == '_'));
  }

  void skip_blanks() {
    while (position_ < text_.size()) {
      const std::string_view rest = text_.substr(position_);
      if (rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r') {
        ++position_;
      } else if (rest.starts_with("//")) {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (rest.starts_with("/*")) {
        skip_comment();
      } else {
        return;
      }
    }
  }

  void skip_comment() {
    const std::size_t begin = line_;
    const std::size_t end = text_.find("*/", position_ + 2);
    if (end == std::string_view::npos) {
      throw Error(ErrorKind::usage,
                  fmt::format("line {}: found a comment without end, expected '*/'", begin));
    }
    for (; position_ < end; ++position_) line_ += text_[position_] == '\n';
    position_ += 2;
  }

  std::string_view text_;
  std::string_view current_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) {}

  GoalGraph parse() {
    tokens_.skip_line_ends();
    if (!tokens_.take_if("num_ranks")) tokens_.fail("'num_ranks'");
    graph_.ranks = static_cast<int>(number("a number of ranks", 1, GoalGraph::most_ranks));
    end_line();
    while (!tokens_.at_end()) {
      if (!tokens_.take_if("rank")) tokens_.fail("'rank' and the number of a rank");
      parse_rank();
      end_line();
    }
    return std::move(graph_);
  }

 private:
  void parse_rank() {
    const std::size_t line = tokens_.line();
    rank_ = static_cast<int>(number("a rank", 0, static_cast<std::uint64_t>(graph_.ranks) - 1));
    if (!seen_.insert(rank_).second) {
      throw Error(
          ErrorKind::usage,
          fmt::format("line {}: found rank {} again, expected each rank once", line, rank_));
    }
    if (!tokens_.take_if("{")) tokens_.fail("'{'");
    labels_.clear();
    tokens_.skip_line_ends();
    while (!tokens_.take_if("}")) {
      parse_statement();
      if (tokens_.current() != "}") end_line();
    }
  }

  // A label is followed by ':' or a kind of dependency, and may be any word.
  void parse_statement() {
    if (tokens_.at_end() || !is_letter(tokens_.current()[0])) {
      tokens_.fail("send, recv, calc, a label or '}'");
    }
    const std::size_t line = tokens_.line();
    const std::string_view word = tokens_.take();
    if (tokens_.take_if(":")) {
      if (!labels_.emplace(word, graph_.operations.size()).second) {
        throw Error(ErrorKind::usage,
                    fmt::format("line {}: found label '{}' of rank {} again, expected another name",
                                line, word, rank_));
      }
      const std::string_view kind = tokens_.current();
      if (kind != "send" && kind != "recv" && kind != "calc") tokens_.fail("send, recv or calc");
      return parse_operation(tokens_.take(), line);
    }
    if (tokens_.take_if("requires")) {
      return operation_of(word, line).requires_end.push_back(required());
    }
    if (tokens_.take_if("irequires")) {
      return operation_of(word, line).requires_start.push_back(required());
    }
    if (word == "send" || word == "recv" || word == "calc") return parse_operation(word, line);
    tokens_.fail("':', requires or irequires behind a label");
  }

  std::size_t required() {
    if (tokens_.at_end() || !is_letter(tokens_.current()[0])) tokens_.fail("a label");
    const std::size_t line = tokens_.line();
    return index_of(tokens_.take(), line);
  }

  std::size_t index_of(std::string_view label, std::size_t line) const {
    const auto found = labels_.find(label);
    if (found != labels_.end()) return found->second;
    throw Error(ErrorKind::usage,
                fmt::format("line {}: found label '{}', expected one defined before in rank {}",
                            line, label.substr(0, 40), rank_));
  }

  GoalOperation& operation_of(std::string_view label, std::size_t line) {
    return graph_.operations[index_of(label, line)];
  }

  void parse_operation(std::string_view kind, std::size_t line) {
    GoalOperation operation;
    operation.rank = rank_;
    operation.line = line;
    if (kind == "calc") {
      operation.kind = GoalOperation::Kind::calc;
      operation.seconds = static_cast<double>(number("nanoseconds", 0, most_nanoseconds)) * 1e-9;
    } else {
      parse_message(operation, kind == "send");
    }
    parse_place(operation.kind != GoalOperation::Kind::calc);
    graph_.operations.push_back(std::move(operation));
  }

  void parse_message(GoalOperation& operation, bool is_send) {
    operation.kind = is_send ? GoalOperation::Kind::send : GoalOperation::Kind::recv;
    operation.bytes = number("bytes", 0, most_bytes);
    if (!tokens_.take_if("b")) tokens_.fail("'b' behind the bytes");
    const std::string_view preposition = is_send ? "to" : "from";
    if (!tokens_.take_if(preposition)) tokens_.fail(fmt::format("'{}' and a rank", preposition));
    if (is_send || !tokens_.take_if("-1")) {
      const std::size_t line = tokens_.line();
      operation.peer =
          static_cast<int>(number("a rank", 0, static_cast<std::uint64_t>(graph_.ranks) - 1));
      if (operation.peer == rank_) {
        throw Error(ErrorKind::usage, fmt::format("line {}: found a message of rank {} to itself, "
                                                  "expected another rank",
                                                  line, rank_));
      }
    }
    if (!tokens_.take_if("tag")) return;
    operation.tag =
        tokens_.take_if("-1") ? GoalGraph::any : static_cast<long>(number("a tag", 0, most_tag));
  }

  void parse_place(bool has_nic) {
    if (tokens_.take_if("cpu")) number("a cpu", 0, most_tag);
    if (has_nic && tokens_.take_if("nic")) number("a nic", 0, most_tag);
  }

  std::uint64_t number(std::string_view what, std::uint64_t least, std::uint64_t most) {
    const std::string_view token = tokens_.current();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc{} || end != token.data() + token.size() || value < least ||
        value > most) {
      tokens_.fail(fmt::format("{} from {} to {}", what, least, most));
    }
    tokens_.take();
    return value;
  }

  void end_line() {
    if (!tokens_.at_line_end()) tokens_.fail("the end of the line");
    tokens_.skip_line_ends();
  }

  Tokens tokens_;
  GoalGraph graph_;
  int rank_ = 0;
  std::unordered_set<int> seen_;
  std::unordered_map<std::string_view, std::size_t> labels_;
};

}  // namespace

std::string GoalOperation::describe() const {
  const std::string place = fmt::format("rank {}, line {}: ", rank, line);
  if (!label.empty()) return place + std::string(label);
  if (kind == Kind::calc) return fmt::format("{}calc of {} ns", place, seconds * 1e9);
  const auto name = [](long value) { return value < 0 ? "any" : std::to_string(value); };
  return fmt::format("{}{} {}, {} bytes, tag {}", place,
                     kind == Kind::send ? "send to" : "recv from", name(peer), bytes, name(tag));
}

GoalGraph parse_goal_graph(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace tutti
