#include "collectives/plan_msccl.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <pugixml.hpp>
#include <unordered_map>
#include <utility>

#include "collectives/plan_walk.hpp"

namespace tutti {
namespace {

using Kind = PlanEvent::Kind;

constexpr std::size_t most_chunks = 65'536;

[[noreturn]] void refuse(const std::string& found, std::string_view expected) {
  throw Error(ErrorKind::usage, fmt::format("msccl: found {}, expected {}", found, expected));
}

void check_expressible(const Plan& plan, Collective collective) {
  if (collective != Collective::allreduce && collective != Collective::broadcast &&
      collective != Collective::allgather && collective != Collective::reduce_scatter) {
    refuse(std::string(name_of(collective)), "allreduce, broadcast, allgather or reduce_scatter");
  }
  for (const PlanProgram& program : plan.programs) {
    if (program.lane != 0) refuse(fmt::format("lane {}", program.lane), "one lane");
    for (const PlanEvent& event : program.events) {
      if (event.kind == Kind::wait) continue;
      const std::string place = fmt::format("at step {} of rank {} ", event.step, program.rank);
      if (event.kind == Kind::work &&
          (event.work == Work::Kind::compute || event.work == Work::Kind::scale)) {
        refuse(place + "work of another kind", "copies and reductions");
      }
      const bool is_nowhere = event.address.buffer == -1 || event.address.buffer > 0;
      if (event.ghost || is_nowhere) refuse(place + "a ghost", "elements of the buffer");
    }
  }
}

// The greatest size that divides everything that is moved.
std::size_t chunk_bytes_of(const Plan& plan, std::size_t whole_bytes) {
  std::size_t chunk_bytes = whole_bytes;
  for (const PlanProgram& program : plan.programs) {
    for (const PlanEvent& event : program.events) {
      if (event.kind == Kind::wait) continue;
      for (const std::size_t bytes :
           {event.bytes(), event.address.offset_bytes, event.source.offset_bytes}) {
        chunk_bytes = std::gcd(chunk_bytes, bytes);
      }
    }
  }
  if (chunk_bytes == 0) refuse("an empty buffer", "elements");
  return chunk_bytes;
}

// A run of chunks in 'i', 'o' or 's'.
struct Chunks {
  char buffer = 'i';
  std::size_t first = 0;
  std::size_t count = 0;
};

struct StepId {
  std::size_t threadblock = 0;
  std::size_t step = 0;
};

struct Step {
  const char* type = "nop";
  Chunks source;
  Chunks target;
  bool has_places = false;
  bool depends = false;
  StepId dependency;
  bool is_awaited = false;
};

struct Threadblock {
  int send = -1;
  int recv = -1;
  std::vector<Step> steps;
  std::unordered_map<std::size_t, std::size_t> awaited;  // By threadblock, the last step awaited.
};

// What the steps that touch one chunk of a rank wait for: whoever wrote it last, and who has read
// it since. Steps are numbered in the order of Gpu::add().
class Chunk {
 public:
  void read(std::size_t by, std::vector<std::size_t>& dependencies) {
    if (writer_) dependencies.push_back(*writer_);
    readers_.push_back(by);
  }

  void write(std::size_t by, std::vector<std::size_t>& dependencies) {
    if (writer_) dependencies.push_back(*writer_);
    dependencies.insert(dependencies.end(), readers_.begin(), readers_.end());
    readers_.clear();
    writer_ = by;
  }

 private:
  std::optional<std::size_t> writer_;
  std::vector<std::size_t> readers_;
};

// The threadblocks of one rank.
class Gpu {
 public:
  Gpu(char main_buffer, std::size_t chunk_bytes) : main_(main_buffer), chunk_bytes_(chunk_bytes) {}

  // Where a scratch lies among all of its rank, in the order in which they appear.
  void add_scratch(const PlanEvent& event) {
    scratch_begin_.push_back(scratch_chunks_);
    scratch_chunks_ += event.bytes() / chunk_bytes_;
  }

  Chunks place_of(PlanAddress address, std::size_t bytes) const {
    const Chunks place{main_, address.offset_bytes / chunk_bytes_, bytes / chunk_bytes_};
    if (address.buffer == 0) return place;
    const auto scratch = static_cast<std::size_t>(-2 - address.buffer);
    return {'s', scratch_begin_.at(scratch) + place.first, place.count};
  }

  // `reads` and `writes` are the rank's own chunks, of no length where it does not.
  void add(int send, int recv, Step step, Chunks reads, Chunks writes) {
    const auto [found, is_new] = index_.try_emplace({send, recv}, threadblocks_.size());
    const std::size_t index = found->second;
    if (is_new) threadblocks_.push_back({send, recv, {}, {}});
    const std::size_t number = ids_.size();
    std::vector<std::size_t> dependencies;
    for_each(reads, [&](Chunk& chunk) { chunk.read(number, dependencies); });
    for_each(writes, [&](Chunk& chunk) { chunk.write(number, dependencies); });
    await(index, dependencies, step);
    Threadblock& threadblock = threadblocks_[index];
    threadblock.steps.push_back(step);
    ids_.push_back({index, threadblock.steps.size() - 1});
  }

  std::size_t scratch_chunks() const { return scratch_chunks_; }
  const std::vector<Threadblock>& threadblocks() const { return threadblocks_; }

 private:
  template <typename Visit>
  void for_each(Chunks chunks, const Visit& visit) {
    for (std::size_t i = 0; i < chunks.count; ++i) {
      visit(chunks_[{chunks.buffer, chunks.first + i}]);
    }
  }

  // A step depends on one other at most; what else there is goes to nops in front of it.
  void await(std::size_t index, const std::vector<std::size_t>& dependencies, Step& step) {
    std::map<std::size_t, std::size_t> latest;
    for (const std::size_t dependency : dependencies) {
      if (dependency == ids_.size()) continue;  // It reads what it writes.
      const StepId id = ids_[dependency];
      if (id.threadblock == index) continue;
      auto& last = latest[id.threadblock];
      last = std::max(last, id.step);
    }
    Threadblock& threadblock = threadblocks_[index];
    for (const auto& [other, last] : latest) {
      const auto known = threadblock.awaited.find(other);
      if (known != threadblock.awaited.end() && known->second >= last) continue;
      threadblock.awaited[other] = last;
      threadblocks_[other].steps[last].is_awaited = true;
      if (step.depends) {
        Step nop;
        std::swap(nop.depends, step.depends);
        nop.dependency = step.dependency;
        threadblock.steps.push_back(nop);
      }
      step.depends = true;
      step.dependency = {other, last};
    }
  }

  char main_;
  std::size_t chunk_bytes_;
  std::size_t scratch_chunks_ = 0;
  std::vector<std::size_t> scratch_begin_;
  std::vector<Threadblock> threadblocks_;
  std::map<std::pair<int, int>, std::size_t> index_;  // By peer to send to and to receive from.
  std::map<std::pair<char, std::size_t>, Chunk> chunks_;
  std::vector<StepId> ids_;  // Of the steps, by their numbers.
};

class Translation {
 public:
  Translation(const Plan& plan, char main_buffer, std::size_t chunk_bytes)
      : gpus_(static_cast<std::size_t>(plan.size), Gpu(main_buffer, chunk_bytes)) {
    for (const PlanProgram& program : plan.programs) {
      for (const PlanEvent& event : program.events) {
        if (event.kind == Kind::work && event.work == Work::Kind::scratch) {
          gpu(program.rank).add_scratch(event);
        }
      }
    }
    for (const PlanMessage& message : match(plan)) {
      peers_[message.send] = &message_ends_.emplace_back(message);
      peers_[message.recv] = peers_[message.send];
    }
    for (const PlanProgram& program : plan.programs) {
      for (const PlanEvent& event : program.events) add(program.rank, event);
    }
  }

  const std::vector<Gpu>& gpus() const { return gpus_; }

 private:
  Gpu& gpu(int rank) { return gpus_[static_cast<std::size_t>(rank)]; }

  void add(int rank, const PlanEvent& event) {
    if (event.kind == Kind::wait) return;
    if (event.kind == Kind::work) return add_work(rank, event);
    const PlanMessage& message = *peers_.at(&event);
    Step step;
    step.has_places = true;
    step.source = gpu(message.sender->rank).place_of(message.send->address, event.bytes());
    step.target = gpu(message.receiver->rank).place_of(message.recv->address, event.bytes());
    if (event.kind == Kind::send) {
      step.type = "s";
      return gpu(rank).add(event.peer, -1, step, step.source, {});
    }
    const bool folds = event.op != Op::replace;
    step.type = folds ? "rrc" : "r";
    if (folds) step.source = step.target;  // The runtime adds its own source, not the sender's.
    gpu(rank).add(-1, event.peer, step, folds ? step.target : Chunks{}, step.target);
  }

  void add_work(int rank, const PlanEvent& event) {
    if (event.work == Work::Kind::scratch) return;
    Step step;
    step.has_places = true;
    step.type = event.work == Work::Kind::copy ? "cpy" : "re";
    step.source = gpu(rank).place_of(event.source, event.bytes());
    step.target = gpu(rank).place_of(event.address, event.bytes());
    gpu(rank).add(-1, -1, step, step.source, step.target);
  }

  std::vector<Gpu> gpus_;
  std::deque<PlanMessage> message_ends_;
  std::unordered_map<const PlanEvent*, const PlanMessage*> peers_;
};

void append_step(pugi::xml_node threadblock, std::size_t index, const Step& step) {
  pugi::xml_node node = threadblock.append_child("step");
  const auto set = [&node](const char* key, auto value) { node.append_attribute(key) = value; };
  const auto set_place = [&](const char* buffer, const char* offset, Chunks chunks) {
    const std::string letter(1, chunks.buffer);
    set(buffer, letter.c_str());
    set(offset, step.has_places ? static_cast<long long>(chunks.first) : -1LL);
  };
  set("s", static_cast<unsigned long long>(index));
  set("type", step.type);
  set_place("srcbuf", "srcoff", step.source);
  set_place("dstbuf", "dstoff", step.target);
  set("cnt", static_cast<unsigned long long>(step.target.count));
  set("depid", step.depends ? static_cast<long long>(step.dependency.threadblock) : -1LL);
  set("deps", step.depends ? static_cast<long long>(step.dependency.step) : -1LL);
  set("hasdep", step.is_awaited ? 1 : 0);
}

void append_gpu(pugi::xml_node algo, std::size_t rank, const Gpu& gpu, std::size_t input_chunks,
                std::size_t output_chunks) {
  pugi::xml_node node = algo.append_child("gpu");
  const auto set = [](pugi::xml_node to, const char* key, std::size_t value) {
    to.append_attribute(key) = static_cast<unsigned long long>(value);
  };
  set(node, "id", rank);
  set(node, "i_chunks", input_chunks);
  set(node, "o_chunks", output_chunks);
  set(node, "s_chunks", gpu.scratch_chunks());
  for (std::size_t i = 0; i < gpu.threadblocks().size(); ++i) {
    const Threadblock& threadblock = gpu.threadblocks()[i];
    pugi::xml_node child = node.append_child("tb");
    set(child, "id", i);
    child.append_attribute("send") = threadblock.send;
    child.append_attribute("recv") = threadblock.recv;
    child.append_attribute("chan") = 0;
    for (std::size_t s = 0; s < threadblock.steps.size(); ++s) {
      append_step(child, s, threadblock.steps[s]);
    }
  }
}

struct StringWriter final : pugi::xml_writer {
  void write(const void* data, std::size_t size) override {
    text.append(static_cast<const char*>(data), size);
  }
  std::string text;
};

}  // namespace

std::string to_msccl(const Plan& plan, Collective collective, std::size_t whole_bytes,
                     std::string_view name) {
  check_expressible(plan, collective);
  const std::size_t chunk_bytes = chunk_bytes_of(plan, whole_bytes);
  const std::size_t chunks = whole_bytes / chunk_bytes;
  const auto ranks = static_cast<std::size_t>(plan.size);
  if (chunks > most_chunks) {
    refuse(fmt::format("{} chunks of {} bytes", chunks, chunk_bytes),
           fmt::format("{} at most: a count that divides into fewer", most_chunks));
  }
  const bool gathers = collective == Collective::allgather;
  const bool has_parts = gathers || collective == Collective::reduce_scatter;
  if (has_parts && chunks % ranks != 0) {
    refuse(fmt::format("{} chunks among {} ranks", chunks, ranks), "equal parts");
  }
  const Translation translation(plan, gathers ? 'o' : 'i', chunk_bytes);

  pugi::xml_document document;
  pugi::xml_node algo = document.append_child("algo");
  algo.append_attribute("name") = std::string(name).c_str();
  algo.append_attribute("proto") = "Simple";
  algo.append_attribute("nchannels") = 1;
  algo.append_attribute("nchunksperloop") = static_cast<unsigned long long>(chunks);
  algo.append_attribute("ngpus") = plan.size;
  algo.append_attribute("coll") = std::string(name_of(collective)).c_str();
  algo.append_attribute("inplace") = 1;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    append_gpu(algo, rank, translation.gpus()[rank], gathers ? chunks / ranks : chunks,
               gathers ? chunks : 0);
  }
  StringWriter writer;
  document.save(writer, "  ", pugi::format_indent | pugi::format_no_declaration);
  return std::move(writer.text);
}

}  // namespace tutti
