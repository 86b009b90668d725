#include "collectives/msccl_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include "collectives/error.hpp"
#include "collectives/goal_graph.hpp"

namespace tutti {
namespace {

using Type = MscclStep::Type;

struct TypeName {
  std::string_view name;
  Type type;
};

constexpr std::array type_names{TypeName{"s", Type::send},
                                TypeName{"r", Type::recv},
                                TypeName{"rcs", Type::recv_copy_send},
                                TypeName{"rrc", Type::recv_reduce_copy},
                                TypeName{"rrs", Type::recv_reduce_send},
                                TypeName{"rrcs", Type::recv_reduce_copy_send},
                                TypeName{"cpy", Type::copy},
                                TypeName{"re", Type::reduce},
                                TypeName{"nop", Type::nop}};

constexpr int most_threadblock = (1 << 16) - 1;

std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  MscclFile read() {
    if (text_.size() > MscclFile::most_text_bytes) {
      fail_at(1, fmt::format("{} bytes", text_.size()),
              fmt::format("at most {}", MscclFile::most_text_bytes));
    }
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!result) {
      const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
      fail_at(line_of(offset), fmt::format("no well-formed XML ({})", result.description()),
              "an <algo> element");
    }
    const pugi::xml_node algo = document.document_element();
    if (std::string_view(algo.name()) != "algo") {
      fail(algo, fmt::format("<{}>", printable(algo.name())), "<algo>");
    }
    read_algo(algo);
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail_at(std::size_t line, const std::string& found,
                            std::string_view expected) const {
    throw Error(ErrorKind::usage,
                fmt::format("line {}: found {}, expected {}", line, found, expected));
  }

  [[noreturn]] void fail(pugi::xml_node node, const std::string& found, std::string_view expected) {
    fail_at(line_of(node), found, expected);
  }

  // Nodes are asked for in the order of the text, so that all of it is counted once.
  std::size_t line_of(std::size_t offset) {
    offset = std::min(offset, text_.size());
    if (offset < counted_) counted_ = 0, line_ = 1;
    line_ += static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                   text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
    counted_ = offset;
    return line_;
  }

  std::size_t line_of(pugi::xml_node node) {
    return line_of(static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0)));
  }

  int number_or(pugi::xml_node node, const char* key, int least, int most, int otherwise) {
    return node.attribute(key) ? number(node, key, least, most) : otherwise;
  }

  int number(pugi::xml_node node, const char* key, int least, int most) {
    const pugi::xml_attribute attribute = node.attribute(key);
    const std::string_view text = attribute.value();
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (attribute && error == std::errc{} && end == text.data() + text.size() && value >= least &&
        value <= most) {
      return value;
    }
    fail(node,
         attribute ? fmt::format("{}=\"{}\"", key, printable(text)) : fmt::format("no {}", key),
         fmt::format("a number from {} to {}", least, most));
  }

  std::size_t size(pugi::xml_node node, const char* key, int least) {
    return static_cast<std::size_t>(number(node, key, least, MscclFile::most_chunks));
  }

  // Calls visit for each child, all of which must be <name> elements.
  template <typename Visit>
  void for_each_child(pugi::xml_node node, std::string_view name, const Visit& visit) {
    for (const pugi::xml_node child : node.children()) {
      if (child.type() != pugi::node_element || name != child.name()) {
        const bool is_element = child.type() == pugi::node_element;
        fail(child, is_element ? fmt::format("<{}>", printable(child.name())) : "text",
             fmt::format("<{}>", name));
      }
      visit(child);
    }
  }

  void read_algo(pugi::xml_node algo) {
    file_.name = algo.attribute("name").value();
    file_.collective = algo.attribute("coll").as_string("custom");
    file_.in_place = number_or(algo, "inplace", 0, 1, 1) == 1;
    file_.line = line_of(algo);
    file_.chunks = size(algo, "nchunksperloop", 1);
    const auto elements = std::distance(algo.children("gpu").begin(), algo.children("gpu").end());
    const int otherwise = static_cast<int>(
        std::min<std::ptrdiff_t>(std::max<std::ptrdiff_t>(elements, 1), GoalGraph::most_ranks));
    ranks_ = number_or(algo, "ngpus", 1, GoalGraph::most_ranks, otherwise);
    file_.gpus.resize(static_cast<std::size_t>(ranks_));
    std::set<int> seen;
    for_each_child(algo, "gpu", [&](pugi::xml_node node) {
      const int rank = number(node, "id", 0, ranks_ - 1);
      if (!seen.insert(rank).second) {
        fail(node, fmt::format("gpu {} again", rank), "another id");
      }
      read_gpu(node, rank);
    });
  }

  void read_gpu(pugi::xml_node node, int rank) {
    MscclGpu& gpu = file_.gpus[static_cast<std::size_t>(rank)];
    gpu.input_chunks = size(node, "i_chunks", 0);
    gpu.output_chunks = size(node, "o_chunks", 0);
    gpu.scratch_chunks = size(node, "s_chunks", 0);
    std::map<int, int> index_of;
    std::set<std::tuple<bool, int, int>> connections;
    for_each_child(node, "tb", [&](pugi::xml_node child) {
      const int id = number(child, "id", 0, most_threadblock);
      if (!index_of.emplace(id, static_cast<int>(gpu.threadblocks.size())).second) {
        fail(child, fmt::format("tb {} of gpu {} again", id, rank), "another id");
      }
      MscclThreadblock& block = gpu.threadblocks.emplace_back();
      block.id = id;
      block.send = peer(child, "send", rank);
      block.recv = peer(child, "recv", rank);
      block.channel = number(child, "chan", 0, most_threadblock);
      for (const bool sends : {true, false}) {
        const int other = sends ? block.send : block.recv;
        if (other < 0 || connections.emplace(sends, other, block.channel).second) continue;
        fail(child,
             fmt::format("a second tb of gpu {} that {} rank {} on channel {}", rank,
                         sends ? "sends to" : "receives from", other, block.channel),
             "one");
      }
      for_each_child(child, "step", [&](pugi::xml_node step) { read_step(step, block); });
    });
    resolve(gpu, rank, index_of);
  }

  int peer(pugi::xml_node node, const char* key, int rank) {
    const int other = number(node, key, -1, ranks_ - 1);
    if (other == rank) {
      fail(node, fmt::format("{}=\"{}\" in gpu {}", key, other, rank), "another rank, or -1");
    }
    return other;
  }

  void read_step(pugi::xml_node node, MscclThreadblock& block) {
    const std::size_t position = block.steps.size();
    MscclStep& step = block.steps.emplace_back();
    step.line = line_of(node);
    if (size(node, "s", 0) != position) {
      fail(node, fmt::format("s=\"{}\"", printable(node.attribute("s").value())),
           fmt::format("{}: steps are numbered in order", position));
    }
    const std::string_view name = node.attribute("type").value();
    const auto* const found = std::find_if(type_names.begin(), type_names.end(),
                                           [&](const TypeName& one) { return one.name == name; });
    if (found == type_names.end()) {
      fail(node, fmt::format("type=\"{}\"", printable(name)),
           "s, r, rcs, rrc, rrs, rrcs, cpy, re or nop");
    }
    step.type = found->type;
    step.is_awaited = number(node, "hasdep", 0, 1) == 1;
    step.awaited = number_or(node, "depid", -1, most_threadblock, -1);
    if (step.awaited >= 0) step.awaited_step = size(node, "deps", 0);
    if (step.type == Type::nop) return;
    step.count = size(node, "cnt", 0);
    if (step.sends() && block.send < 0) fail(node, "a send in a tb without one", "send=\"RANK\"");
    if (step.receives() && block.recv < 0) {
      fail(node, "a receive in a tb without one", "recv=\"RANK\"");
    }
    const bool has_source = step.type != Type::recv && step.type != Type::recv_copy_send;
    const bool has_target = step.type != Type::send && step.type != Type::recv_reduce_send;
    if (has_source) step.source = place(node, "srcbuf", "srcoff");
    if (has_target) step.target = place(node, "dstbuf", "dstoff");
  }

  MscclStep::Place place(pugi::xml_node node, const char* buffer_key, const char* chunk_key) {
    const std::string_view buffer = node.attribute(buffer_key).value();
    if (buffer != "i" && buffer != "o" && buffer != "s") {
      fail(node, fmt::format("{}=\"{}\"", buffer_key, printable(buffer)), "i, o or s");
    }
    return {buffer[0], size(node, chunk_key, 0)};
  }

  // Makes ids of threadblocks indices.
  void resolve(MscclGpu& gpu, int rank, const std::map<int, int>& index_of) {
    for (MscclThreadblock& block : gpu.threadblocks) {
      for (MscclStep& step : block.steps) {
        if (step.awaited < 0) continue;
        const auto found = index_of.find(step.awaited);
        const std::string place =
            fmt::format("a wait for step {} of tb {}", step.awaited_step, step.awaited);
        if (found == index_of.end()) fail_at(step.line, place, fmt::format("a tb of gpu {}", rank));
        step.awaited = found->second;
        const auto& awaited = gpu.threadblocks[static_cast<std::size_t>(step.awaited)].steps;
        if (step.awaited_step >= awaited.size()) {
          fail_at(step.line, place, fmt::format("one of its {} steps", awaited.size()));
        }
        if (!awaited[step.awaited_step].is_awaited) {
          fail_at(awaited[step.awaited_step].line, "hasdep=\"0\"",
                  fmt::format("1, since the step of line {} waits for this one", step.line));
        }
      }
    }
  }

  std::string_view text_;
  std::size_t counted_ = 0;
  std::size_t line_ = 1;
  MscclFile file_;
  int ranks_ = 1;
};

}  // namespace

bool MscclStep::receives() const {
  return type == Type::recv || type == Type::recv_copy_send || type == Type::recv_reduce_copy ||
         type == Type::recv_reduce_send || type == Type::recv_reduce_copy_send;
}

bool MscclStep::sends() const {
  return type == Type::send || type == Type::recv_copy_send || type == Type::recv_reduce_send ||
         type == Type::recv_reduce_copy_send;
}

MscclFile parse_msccl_file(std::string_view text) {
  return Reader(text).read();
}

}  // namespace tutti
