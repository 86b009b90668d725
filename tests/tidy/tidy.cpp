#include "tests/tidy/tidy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

namespace tutti::tidy {
namespace {

namespace fs = std::filesystem;

// What a folder's files may include. Folders that are not named may include everything.
struct FolderRule {
  std::string_view folder;
  std::vector<std::string_view> own;     // The folders of ours that it may include, beside itself.
  std::vector<std::string_view> banned;  // Beginnings of foreign headers' names.
};

const std::vector<std::string_view> simulator = {"simgrid/", "xbt/", "smpi/"};
const std::vector<std::string_view> torch = {"torch/", "c10", "ATen/", "caffe2/"};
const std::vector<std::string_view> machine = {
    "arpa/",      "atomic",  "chrono",   "condition_variable",
    "ctime",      "fcntl.h", "future",   "linux/",
    "mpi.h",      "mutex",   "netinet/", "poll",
    "pthread",    "sched.h", "signal",   "semaphore",
    "stop_token", "sys/",    "thread",   "time.h",
    "unistd.h"};

std::vector<std::string_view> join(std::initializer_list<std::vector<std::string_view>> lists) {
  std::vector<std::string_view> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

const std::vector<FolderRule>& folder_rules() {
  static const std::vector<FolderRule> rules = {
      {"collectives/", {}, join({simulator, torch, machine})},
      {"topologies/", {}, join({simulator, torch, machine})},
      {"process/", {"collectives/"}, join({simulator, torch})},
      {"sim/", {"collectives/", "topologies/", "process/"}, torch},
      {"exec/", {"collectives/", "topologies/", "process/"}, simulator},
      {"emulation/", {"collectives/", "topologies/", "process/"}, join({simulator, torch})},
      {"training/", {"collectives/"}, simulator},
      {"profiles/", {"collectives/", "topologies/", "sim/"}, join({simulator, torch, machine})},
      {"deploy/", {"collectives/", "topologies/", "profiles/"}, join({simulator, torch, machine})},
      {"experiments/",
       {"collectives/", "topologies/", "process/", "sim/", "exec/", "emulation/", "training/",
        "profiles/", "deploy/"},
       join({simulator, torch})},
  };
  return rules;
}

const std::set<std::string_view> own_folders = {"collectives/", "topologies/",  "process/",
                                                "sim/",         "exec/",        "emulation/",
                                                "training/",    "profiles/",    "deploy/",
                                                "experiments/", "tests/"};

// In two halves, so that this file does not break its own rule.
const std::vector<std::string> places = {
    std::string("/wor") + "k/",        std::string("/hom") + "e/",
    std::string("/roo") + "t/",        std::string("deb.deb") + "ian.org",
    std::string("pypi") + ".org",      std::string("snapshot.deb") + "ian.org",
    std::string("registry.n") + "pmjs"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t line_at(const std::string& text, std::size_t position) {
  return 1 + static_cast<std::size_t>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
}

// Whether a brace begins a function's body, judged by `head`, what precedes it.
bool opens_function(const std::string& head) {
  static const std::set<std::string> others = {"namespace", "class", "struct", "union", "enum"};
  const std::size_t parenthesis = head.find('(');
  std::istringstream before(head.substr(0, parenthesis));
  const auto is_other = [](const std::string& word) { return others.contains(word); };
  return parenthesis != std::string::npos &&
         std::none_of(std::istream_iterator<std::string>(before), {}, is_other);
}

// The header's name, empty where the line is no #include.
std::string included_by(const std::string& line) {
  const std::size_t begin = line.find_first_of("<\"");
  if (begin == std::string::npos || !line.starts_with("#include")) return "";
  return line.substr(begin + 1, line.find_first_of(">\"", begin + 1) - begin - 1);
}

// Where the literal, comment or directive that begins at `begin` ends (one past), or `begin` where
// none does.
std::size_t end_of_hidden(const std::string& text, std::size_t begin) {
  const auto until = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == std::string::npos ? text.size() : found + mark.size();
  };
  const std::string_view rest = std::string_view(text).substr(begin);
  const bool begins_line = begin == 0 || text[begin - 1] == '\n';
  if (rest.starts_with("//") || (begins_line && rest.starts_with("#"))) {
    return until("\n", begin) - 1;
  }
  if (rest.starts_with("/*")) return until("*/", begin + 2);
  if (rest.starts_with("R\"")) {
    const std::size_t parenthesis = text.find('(', begin);
    const std::string_view mark = rest.substr(2, parenthesis - begin - 2);
    return until(fmt::format("){}\"", mark), parenthesis);
  }
  const char quote = text[begin];
  const bool is_digit_separator =
      quote == '\'' && begin > 0 && std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0;
  if ((quote != '"' && quote != '\'') || is_digit_separator) return begin;
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

void check_functions(const SourceFile& file, std::vector<Finding>& findings) {
  const std::string code = without_comments_and_strings(file.text);
  std::size_t head = 0, begin = 0;
  int depth = 0, function_depth = -1;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    if (c == '{') {
      if (function_depth < 0 && opens_function(code.substr(head, i - head))) {
        function_depth = depth;
        begin = code.find_first_not_of(" \n", head);
      }
      ++depth;
    }
    if (c == '}' && --depth == function_depth) {
      const std::size_t first = line_at(code, begin), lines = line_at(code, i) - first + 1;
      if (lines > longest_function_lines) {
        findings.push_back(
            {file.path, first,
             fmt::format("a function of {} lines, at most {}", lines, longest_function_lines)});
      }
      function_depth = -1;
    }
    if (c == '{' || c == '}' || c == ';') head = i + 1;
  }
}

bool is_written_by_people(const fs::path& path) {
  static const std::set<std::string> names = {
      "CMakeLists.txt", "CMakePresets.json", "demo", "test", "setup", "fuzz", "run"};
  static const std::set<std::string> extensions = {".cpp", ".hpp", ".cmake", ".md",    ".yaml",
                                                   ".yml", ".c",   ".h",     ".ipynb", ".py"};
  return names.contains(path.filename()) || extensions.contains(path.extension());
}

bool is_skipped_folder(const fs::path& path) {
  const std::string name = path.filename();
  return name == "build" || name == "results" || name == "golden" ||
         (name.starts_with('.') && name != ".ci");
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Finding& finding) {
  return stream << fmt::format("{}:{}: {}", finding.path, finding.line, finding.rule);
}

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && is_skipped_folder(entry->path()))
      entry.disable_recursion_pending();
    if (!entry->is_regular_file() || !is_written_by_people(entry->path())) continue;
    std::ifstream stream(entry->path(), std::ios::binary);
    files.push_back({fs::relative(entry->path(), root).generic_string(),
                     {std::istreambuf_iterator<char>(stream), {}}});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<Finding> check(const SourceFile& file) {
  std::vector<Finding> findings;
  for (const auto rule : {check_characters, check_lengths, check_includes}) {
    const std::vector<Finding> some = rule(file);
    findings.insert(findings.end(), some.begin(), some.end());
  }
  return findings;
}

std::vector<Finding> check_characters(const SourceFile& file) {
  std::vector<Finding> findings;
  std::size_t number = 0;
  for (const std::string& line : lines_of(file.text)) {
    ++number;
    const auto found = [&](std::string rule) {
      findings.push_back({file.path, number, std::move(rule)});
    };
    if (line.find('\t') != std::string::npos) found("a tab");
    if (line.ends_with(' ') || line.ends_with('\r')) found("blanks at the end of the line");
    for (const std::string& place : places) {
      if (line.find(place) != std::string::npos) found("names a place of one machine: " + place);
    }
  }
  if (!file.text.empty() && !file.text.ends_with('\n')) {
    findings.push_back({file.path, number, "no line feed at the end of the file"});
  }
  return findings;
}

std::vector<Finding> check_lengths(const SourceFile& file) {
  std::vector<Finding> findings;
  if (file.path.ends_with(".ipynb") || file.path.ends_with(".md")) return findings;
  const std::vector<std::string> lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t columns = columns_of(lines[i]);
    if (columns <= longest_line_columns) continue;
    findings.push_back(
        {file.path, i + 1, fmt::format("{} columns, at most {}", columns, longest_line_columns)});
  }
  if (lines.size() > longest_file_lines) {
    findings.push_back({file.path, lines.size(),
                        fmt::format("{} lines, at most {}", lines.size(), longest_file_lines)});
  }
  if (file.is_cpp()) check_functions(file, findings);
  return findings;
}

std::vector<Finding> check_includes(const SourceFile& file) {
  std::vector<Finding> findings;
  if (!file.is_cpp()) return findings;
  const std::vector<std::string> lines = lines_of(file.text);
  if (file.is_header() && std::find(lines.begin(), lines.end(), "#pragma once") == lines.end()) {
    findings.push_back({file.path, 1, "a header without #pragma once"});
  }
  const auto rule =
      std::find_if(folder_rules().begin(), folder_rules().end(),
                   [&](const FolderRule& each) { return each.folder == file.folder(); });
  if (rule == folder_rules().end()) return findings;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string name = included_by(lines[i]);
    if (name.empty()) continue;
    const std::string folder = SourceFile{name, ""}.folder();
    const bool is_own = own_folders.contains(folder);
    const bool is_allowed =
        is_own
            ? folder == rule->folder || std::count(rule->own.begin(), rule->own.end(), folder) > 0
            : std::none_of(rule->banned.begin(), rule->banned.end(),
                           [&](std::string_view banned) { return name.starts_with(banned); });
    if (is_allowed) continue;
    findings.push_back(
        {file.path, i + 1, fmt::format("{} must not include {}", rule->folder, name)});
  }
  return findings;
}

std::string without_comments_and_strings(const std::string& text) {
  std::string code = text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = end_of_hidden(text, i);
    for (std::size_t k = i; k < end; ++k) {
      if (code[k] != '\n') code[k] = ' ';
    }
    i = std::max(end, i + 1);
  }
  return code;
}

}  // namespace tutti::tidy
