#include "topologies/nvidia_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "topologies/import_text.hpp"
#include "topologies/words.hpp"

namespace tutti {
namespace {

using Kind = NvidiaCell::Kind;

constexpr std::size_t maximum_devices = 512;
constexpr int lines_behind = 200;
constexpr std::size_t recognised_bytes = std::size_t{1} << 16;

struct CellName {
  std::string_view name;
  Kind kind;
};

constexpr std::array<CellName, 7> cell_names = {{{"X", Kind::self},
                                                 {"PIX", Kind::bridge},
                                                 {"PXB", Kind::bridges},
                                                 {"PHB", Kind::processor},
                                                 {"NODE", Kind::processor},
                                                 {"SYS", Kind::sockets},
                                                 {"SOC", Kind::sockets}}};

constexpr std::string_view expected_cells = "X, NV#, PIX, PXB, PHB, NODE or SYS";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct PlainLine {
  std::string text;
  std::size_t written_bytes = 0;  ///< Of the line, that the text comes from.
};

/// Without what terminals are told by escape sequences, of which pasting may have lost the first
/// character, and with blanks in place of non-breaking ones. Stops behind `most` bytes of text.
PlainLine plain_line(std::string_view line, std::size_t most = std::string_view::npos) {
  std::string plain;
  std::size_t at = 0;
  while (at < line.size() && plain.size() < most) {
    const std::size_t bracket = line[at] == '\x1b' ? at + 1 : at;
    std::size_t end = bracket + 1;
    while (end < line.size() && (is_digit(line[end]) || line[end] == ';')) ++end;
    if (bracket < line.size() && line[bracket] == '[' && end < line.size() &&
        (bracket > at || line[end] == 'm')) {
      at = end + 1;
    } else if (line[at] == '\x1b') {
      ++at;
    } else if (line.substr(at).starts_with("\xc2\xa0")) {
      plain += ' ';
      at += 2;
    } else {
      plain += line[at++];
    }
  }
  return {std::move(plain), at};
}

bool is_gpu_name(std::string_view word) {
  constexpr std::string_view prefix = "GPU";
  return word.starts_with(prefix) && word.size() > prefix.size() &&
         std::all_of(word.begin() + prefix.size(), word.end(), is_digit);
}

/// A cell that the text begins with, and how long it is; nothing if it begins with none.
struct FoundCell {
  NvidiaCell cell;
  std::size_t length = 0;
};

std::optional<FoundCell> cell_at(std::string_view text) {
  for (const CellName& known : cell_names) {
    if (text.starts_with(known.name)) return FoundCell{{known.kind, 0}, known.name.size()};
  }
  std::size_t end = 2;
  while (end < text.size() && is_digit(text[end])) ++end;
  if (!text.starts_with("NV") || end == 2) return std::nullopt;
  const std::optional<std::int64_t> links = whole_number(text.substr(2, end - 2));
  constexpr std::int64_t most = 1000;
  if (!links || *links < 1 || *links > most) return std::nullopt;
  return FoundCell{{Kind::nvlink, static_cast<int>(*links)}, end};
}

/// The names of devices that a word of the head is made of: "GPU6GPU7" are two.
std::vector<std::string> split_names(std::string_view word) {
  constexpr std::array<std::string_view, 3> beginnings = {"GPU", "NIC", "mlx"};
  std::vector<std::string> names;
  std::size_t begin = 0;
  for (std::size_t at = 1; at <= word.size(); ++at) {
    const bool begins = at == word.size() ||
                        (is_digit(word[at - 1]) &&
                         std::any_of(beginnings.begin(), beginnings.end(),
                                     [&](auto name) { return word.substr(at).starts_with(name); }));
    if (!begins) continue;
    names.emplace_back(word.substr(begin, at - begin));
    begin = at;
  }
  return names;
}

bool ends_devices(std::string_view word) {
  return word.starts_with("CPU") || word.starts_with("NUMA") || word == "GPU";
}

bool is_head(const std::vector<std::string_view>& words) {
  if (words.empty() || !is_gpu_name(split_names(words[0])[0])) return false;
  return std::none_of(words.begin(), words.end(),
                      [](std::string_view word) { return cell_at(word).has_value(); });
}

bool is_row(const std::vector<std::string_view>& words) {
  return words.size() > 1 && is_gpu_name(words[0]) && cell_at(words[1]).has_value();
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, const std::string& origin, ImportNotes& notes)
      : origin_(origin), notes_(notes) {
    for (LineReader reader(text); reader.next();) {
      line_ = reader.number();
      written_ = reader.line();
      plain_ = plain_line(written_).text;
      const std::vector<std::string_view> words = words_of(plain_);
      if (words.empty()) continue;
      if (matrix_.devices.empty()) {
        if (is_head(words)) read_head(words);
      } else if (line_ > last_line_) {
        break;
      } else if (!read_row(words)) {
        note_behind(words);
      }
    }
    if (matrix_.devices.empty()) {
      refuse_import(origin_, {}, "no line that names GPU0, GPU1, ..., the head of the matrix");
    }
    make_symmetric();
  }

  NvidiaMatrix matrix() { return std::move(matrix_); }

 private:
  std::size_t size() const { return matrix_.devices.size(); }

  /// Of a part of plain_, in the line as it is written.
  Place place_of(std::string_view part) const {
    return place_of(line_, written_, static_cast<std::size_t>(part.data() - plain_.data()));
  }

  static Place place_of(int line, std::string_view written, std::size_t plain_bytes) {
    const std::size_t bytes = plain_line(written, plain_bytes).written_bytes;
    return {line, column_after(written.substr(0, bytes))};
  }

  void read_head(const std::vector<std::string_view>& words) {
    std::set<std::string> names;
    for (const std::string_view word : words) {
      if (ends_devices(word)) break;
      const std::vector<std::string> split = split_names(word);
      if (split.size() > 1) note_fused(word);
      for (const std::string& name : split) {
        if (ends_devices(name)) break;
        const std::string fault = fault_of_import_name(name);
        if (!fault.empty()) refuse_import(origin_, place_of(word), fault);
        std::string unique = name;
        for (int number = 2; !names.insert(unique).second; ++number) {
          unique = fmt::format("{}-{}", name, number);
        }
        if (unique != name) {
          notes_.suspicious(line_, fmt::format("{} comes twice, taken as {}", name, unique));
        }
        labels_.push_back(name);
        matrix_.devices.push_back({unique, "", 0, is_gpu_name(name)});
      }
      if (size() > maximum_devices) {
        refuse_import(origin_, {line_}, fmt::format("more than {} devices", maximum_devices));
      }
    }
    matrix_.cells.resize(size() * size());
    offsets_.resize(size() * size());
    rows_.resize(size());
    last_line_ = line_ + lines_behind + 2 * static_cast<int>(size());
  }

  void note_fused(std::string_view word) {
    notes_.suspicious(line_, fmt::format("{} has no blanks between, taken apart", quote(word)));
  }

  /// The device whose row this is, by the longest name that the word begins with; size() if none.
  std::size_t device_of(std::string_view word) const {
    std::size_t best = size();
    for (std::size_t index = 0; index < size(); ++index) {
      if (matrix_.devices[index].line != 0 || !word.starts_with(labels_[index])) continue;
      if (best == size() || labels_[index].size() > labels_[best].size()) best = index;
    }
    if (best == size()) return best;
    const std::string_view rest = word.substr(labels_[best].size());
    return rest.empty() || cell_at(rest) ? best : size();
  }

  bool read_row(const std::vector<std::string_view>& words) {
    const std::size_t row = device_of(words[0]);
    if (row == size()) return false;
    std::string_view first = words[0];
    first.remove_prefix(labels_[row].size());
    if (words.size() == 1 && first.empty()) return false;
    matrix_.devices[row].line = line_;
    rows_[row] = written_;
    std::size_t column = read_cells(row, 0, first);
    std::size_t word = 1;
    while (word < words.size() && column < size()) column = read_cells(row, column, words[word++]);
    if (column < size()) {
      refuse_import(origin_, place_of(words.back()),
                    fmt::format("{} cells in the row of {}, expected {}", column,
                                matrix_.devices[row].name, size()));
    }
    if (word < words.size()) matrix_.devices[row].affinity = words[word];
    return true;
  }

  /// Takes the cells that the word is made of. Returns the column behind them.
  std::size_t read_cells(std::size_t row, std::size_t column, std::string_view word) {
    const std::string_view whole = word;
    std::size_t cells = 0;
    for (; !word.empty() && column < size(); ++column, ++cells) {
      const std::optional<FoundCell> found = cell_at(word);
      if (!found) {
        refuse_import(
            origin_, place_of(word),
            fmt::format("found {} in the row of {} and the column of {}, expected {}", quote(word),
                        matrix_.devices[row].name, matrix_.devices[column].name, expected_cells));
      }
      matrix_.cells[row * size() + column] = found->cell;
      offsets_[row * size() + column] = static_cast<std::size_t>(word.data() - plain_.data());
      word.remove_prefix(found->length);
    }
    if (cells > 1 || (cells == 1 && !word.empty())) note_fused(whole);
    return column;
  }

  void note_behind(const std::vector<std::string_view>& words) {
    const bool is_again = std::find(labels_.begin(), labels_.end(), words[0]) != labels_.end();
    if (is_again && words.size() > 1 && cell_at(words[1])) {
      notes_.suspicious(line_, fmt::format("another row of {}, left out", quote(words[0])));
    } else if (words[0].ends_with(':') && words[0].starts_with("NIC")) {
      notes_.ignored(line_, "the names of the NICs");
    }
  }

  void make_symmetric() {
    for (std::size_t row = 0; row < size(); ++row) {
      check_diagonal(row);
      for (std::size_t column = row + 1; column < size(); ++column) join(row, column);
    }
  }

  void check_diagonal(std::size_t row) {
    NvidiaCell& cell = matrix_.cells[row * size() + row];
    const NvidiaDevice& device = matrix_.devices[row];
    if (device.line == 0) {
      notes_.suspicious(0, fmt::format("no row of {}, its column is used", device.name));
    }
    if (cell.kind == Kind::self) return;
    notes_.suspicious(device.line, fmt::format("{} is connected to itself{}", device.name,
                                               cell.kind == Kind::nvlink ? " by NVLink" : ""));
    cell = {};
  }

  /// Makes both cells of two devices the same.
  void join(std::size_t row, std::size_t column) {
    const NvidiaDevice& first = matrix_.devices[row];
    const NvidiaDevice& second = matrix_.devices[column];
    NvidiaCell& cell = matrix_.cells[row * size() + column];
    NvidiaCell& mirror = matrix_.cells[column * size() + row];
    if (first.line == 0 && second.line == 0) {
      refuse_import(origin_, {}, fmt::format("no rows of {} and {}", first.name, second.name));
    }
    if (first.line == 0) cell = mirror;
    if (second.line == 0) mirror = cell;
    for (const auto& [each, device] : {std::pair(&cell, &first), std::pair(&mirror, &second)}) {
      if (each->kind != Kind::self) continue;
      const auto index = static_cast<std::size_t>(each - matrix_.cells.data());
      refuse_import(origin_, place_of(device->line, rows_[index / size()], offsets_[index]),
                    fmt::format("an X between {} and {}, expected only on the diagonal: a cell is "
                                "missing before it, or there is one too many",
                                first.name, second.name));
    }
    if (cell.kind != mirror.kind || cell.nvlinks != mirror.nvlinks) {
      notes_.suspicious(second.line,
                        fmt::format("the rows of {} and {} disagree about what is between them, "
                                    "that of {} is used",
                                    first.name, second.name, first.name));
      mirror = cell;
    }
  }

  std::string origin_;
  ImportNotes& notes_;
  int line_ = 0;
  std::string_view written_;  ///< The line that is read,
  std::string plain_;         ///< and its plain text.
  int last_line_ = 0;         ///< The rows and the legend end before it.
  NvidiaMatrix matrix_;
  std::vector<std::string_view> rows_;  ///< Of the devices, as written.
  std::vector<std::size_t> offsets_;    ///< Of the cells, in their rows' plain text.
  std::vector<std::string> labels_;     ///< Of the devices' rows and columns, as written.
};

}  // namespace

bool has_nvidia_matrix(std::string_view text) {
  bool has_head = false;
  for (LineReader reader(text.substr(0, recognised_bytes)); reader.next();) {
    const PlainLine line = plain_line(reader.line());
    const std::vector<std::string_view> words = words_of(line.text);
    if (has_head && is_row(words)) return true;
    has_head = has_head || is_head(words);
  }
  return false;
}

NvidiaMatrix read_nvidia_matrix(std::string_view text, const std::string& origin,
                                ImportNotes& notes) {
  return MatrixReader(text, origin, notes).matrix();
}

}  // namespace tutti
