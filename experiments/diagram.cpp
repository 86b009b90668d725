#include "experiments/diagram.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include "experiments/output.hpp"

namespace tutti {
namespace {

constexpr std::size_t most_columns = 200;  // Of characters.

std::string cell_text(const std::set<int>& sent, const std::set<int>& received,
                      const std::set<int>& folded) {
  std::vector<std::string> words;
  const auto add = [&words](char sign, const std::set<int>& peers) {
    if (peers.empty()) return;
    words.push_back(fmt::format("{}{}", sign, format_ranks({peers.begin(), peers.end()})));
  };
  add('>', sent);
  add('<', received);
  add('+', folded);
  return words.empty() ? "." : fmt::format("{}", fmt::join(words, " "));
}

// Rows of cells, every column as wide as its widest cell; empty if that is too wide.
std::string layout(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::size_t width = 0;
  for (const std::size_t column : widths) width += column + 2;
  if (width > most_columns) return "";
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

// The drawing of svg_diagram().
class Svg {
 public:
  Svg(int ranks, double seconds, const std::string& title) : ranks_(ranks), seconds_(seconds) {
    svg_ = document_.append_child("svg");
    svg_.append_attribute("xmlns") = "http://www.w3.org/2000/svg";
    svg_.append_attribute("viewBox") = fmt::format("0 0 {} {}", width, height()).c_str();
    svg_.append_attribute("font-family") = "sans-serif";
    svg_.append_attribute("font-size") = "12";
    svg_.append_child("title").text() = title.c_str();
    add_arrow_heads();
    pugi::xml_node background = svg_.append_child("rect");
    background.append_attribute("width") = "100%";
    background.append_attribute("height") = "100%";
    background.append_attribute("fill") = "white";
    add_text(left, 22, title);
  }

  void draw_ranks() {
    for (int rank = 0; rank < ranks_; ++rank) {
      add_line(left, y_of(rank), width - right, y_of(rank), "#bbbbbb");
      add_text(8, y_of(rank) + 4, fmt::format("rank {}", rank));
    }
  }

  // A tick at every 1, 2 or 5 times a power of ten, about eight in all.
  void draw_axis() {
    const double microseconds = seconds_ * 1e6;
    if (!(microseconds > 0.0)) return;
    const double power = std::pow(10.0, std::floor(std::log10(microseconds / 8)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      if (microseconds / (factor * power) <= 10) step = factor * power;
    }
    const double bottom = height() - 30;
    for (int i = 0; i * step <= microseconds * (1 + 1e-9); ++i) {
      const double x = x_of(i * step * 1e-6);
      add_line(x, top - 14, x, bottom, "#eeeeee");
      add_text(x - 4, bottom + 16, fmt::format("{:g}", i * step));
    }
    add_text(width - right - 16, bottom + 16, "us");
  }

  void draw(const Arrow& arrow) {
    const char* color = arrow.folds ? "#c0392b" : "#2060a0";
    pugi::xml_node line = add_line(x_of(arrow.begin_seconds), y_of(arrow.from),
                                   x_of(arrow.end_seconds), y_of(arrow.to), color);
    line.append_attribute("marker-end") = arrow.folds ? "url(#folds)" : "url(#moves)";
    line.append_child("title").text() =
        fmt::format("step {}: {} to {}, {} bytes{}, {:.3f} to {:.3f} us", arrow.step, arrow.from,
                    arrow.to, arrow.bytes, arrow.folds ? ", reduced" : "",
                    arrow.begin_seconds * 1e6, arrow.end_seconds * 1e6)
            .c_str();
  }

  std::string text() const {
    struct Writer final : pugi::xml_writer {
      void write(const void* data, std::size_t size) override {
        text.append(static_cast<const char*>(data), size);
      }
      std::string text;
    } writer;
    document_.save(writer, "  ");
    return std::move(writer.text);
  }

 private:
  static constexpr double width = 1000, left = 70, right = 30, top = 60, row_height = 34;

  double height() const { return top + row_height * ranks_ + 30; }
  double y_of(int rank) const { return top + row_height * rank; }
  double x_of(double seconds) const {
    return left + (seconds_ > 0.0 ? seconds / seconds_ : 0.0) * (width - left - right);
  }

  void add_arrow_heads() {
    pugi::xml_node definitions = svg_.append_child("defs");
    for (const auto& [name, color] : {std::pair{"moves", "#2060a0"}, {"folds", "#c0392b"}}) {
      pugi::xml_node marker = definitions.append_child("marker");
      marker.append_attribute("id") = name;
      marker.append_attribute("viewBox") = "0 0 10 10";
      marker.append_attribute("refX") = "10";
      marker.append_attribute("refY") = "5";
      marker.append_attribute("markerWidth") = "7";
      marker.append_attribute("markerHeight") = "7";
      marker.append_attribute("orient") = "auto";
      pugi::xml_node head = marker.append_child("path");
      head.append_attribute("d") = "M0 0 L10 5 L0 10 z";
      head.append_attribute("fill") = color;
    }
  }

  void add_text(double x, double y, const std::string& content) {
    pugi::xml_node node = svg_.append_child("text");
    node.append_attribute("x") = fmt::format("{:.1f}", x).c_str();
    node.append_attribute("y") = fmt::format("{:.1f}", y).c_str();
    node.text() = content.c_str();
  }

  pugi::xml_node add_line(double x1, double y1, double x2, double y2, const char* color) {
    pugi::xml_node node = svg_.append_child("line");
    const auto set = [&node](const char* key, double value) {
      node.append_attribute(key) = fmt::format("{:.1f}", value).c_str();
    };
    set("x1", x1);
    set("y1", y1);
    set("x2", x2);
    set("y2", y2);
    node.append_attribute("stroke") = color;
    return node;
  }

  int ranks_;
  double seconds_;
  pugi::xml_document document_;
  pugi::xml_node svg_;
};

}  // namespace

std::vector<Arrow> arrows_of(const Plan& plan, const CostModel& model) {
  const Timeline times = timeline(plan, model);
  const Timeline steps = timeline(plan, CostModel{1.0, 0.0, 0.0});
  std::vector<Arrow> arrows;
  for (std::size_t i = 0; i < times.messages.size(); ++i) {
    const PlanMessage& message = times.messages[i];
    Arrow arrow;
    arrow.from = message.sender->rank;
    arrow.to = message.receiver->rank;
    arrow.bytes = message.send->bytes();
    arrow.folds = message.recv->op != Op::replace;
    arrow.step = static_cast<int>(std::lround(steps.end_seconds[i]));
    arrow.begin_seconds = times.begin_seconds[i];
    arrow.end_seconds = times.end_seconds[i];
    arrow.address = message.send->address;
    arrows.push_back(arrow);
  }
  std::stable_sort(arrows.begin(), arrows.end(), [](const Arrow& a, const Arrow& b) {
    return std::tuple(a.step, a.from, a.to) < std::tuple(b.step, b.from, b.to);
  });
  return arrows;
}

std::string format_ranks(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] <= ranks[last] + 1) ++last;
    const char* joint = ranks[last] == ranks[i] + 1 ? "," : "-";
    runs.push_back(ranks[last] == ranks[i] ? std::to_string(ranks[i])
                                           : fmt::format("{}{}{}", ranks[i], joint, ranks[last]));
    i = last + 1;
  }
  return fmt::format("{}", fmt::join(runs, ","));
}

std::string text_diagram(const std::vector<Arrow>& arrows, int ranks) {
  struct Cell {
    std::set<int> sent, received, folded;
  };
  const int steps = arrows.empty() ? 0 : arrows.back().step;
  const bool ranks_are_columns = ranks <= steps || ranks <= 16;
  const int columns = ranks_are_columns ? ranks : steps;
  const int lines = ranks_are_columns ? steps : ranks;
  if (steps == 0) return "";
  std::map<std::pair<int, int>, Cell> cells;  // By line and column, from 0.
  const auto cell = [&](int rank, int step) -> Cell& {
    return ranks_are_columns ? cells[{step - 1, rank}] : cells[{rank, step - 1}];
  };
  for (const Arrow& arrow : arrows) {
    cell(arrow.from, arrow.step).sent.insert(arrow.to);
    Cell& end = cell(arrow.to, arrow.step);
    (arrow.folds ? end.folded : end.received).insert(arrow.from);
  }
  std::vector<std::vector<std::string>> rows{{ranks_are_columns ? "step" : "rank"}};
  for (int column = 0; column < columns; ++column) {
    rows[0].push_back(ranks_are_columns ? fmt::format("rank {}", column)
                                        : fmt::format("step {}", column + 1));
  }
  // Lines of which one is like the next are one.
  int first = 0;
  for (int line = 0; line < lines; ++line) {
    const int name = ranks_are_columns ? line + 1 : line;
    std::vector<std::string> row;
    for (int column = 0; column < columns; ++column) {
      const Cell& one = cells[{line, column}];
      row.push_back(cell_text(one.sent, one.received, one.folded));
    }
    const bool repeats =
        line > 0 && std::equal(row.begin(), row.end(), rows.back().begin() + 1, rows.back().end());
    if (!repeats) {
      first = name;
      row.insert(row.begin(), std::to_string(name));
      rows.push_back(std::move(row));
    } else {
      rows.back()[0] = fmt::format("{}-{}", first, name);
    }
  }
  return layout(rows);
}

std::string svg_diagram(const std::vector<Arrow>& arrows, int ranks, const std::string& title) {
  if (ranks > most_svg_ranks) {
    throw Error(ErrorKind::usage,
                fmt::format("--svg: {} ranks, expected at most {}", ranks, most_svg_ranks));
  }
  if (arrows.size() > most_svg_arrows) {
    throw Error(ErrorKind::usage, fmt::format("--svg: {} messages, expected at most {}",
                                              arrows.size(), most_svg_arrows));
  }
  double seconds = 0.0;
  for (const Arrow& arrow : arrows) seconds = std::max(seconds, arrow.end_seconds);
  Svg svg(ranks, seconds, title);
  svg.draw_axis();
  svg.draw_ranks();
  for (const Arrow& arrow : arrows) svg.draw(arrow);
  return svg.text();
}

}  // namespace tutti
