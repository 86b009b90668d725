#include "collectives/msccl_graph.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti {
namespace {

using Type = MscclStep::Type;
using Kind = PlanEvent::Kind;

constexpr std::size_t most_chunks = std::size_t{1} << 25;
constexpr std::size_t none = static_cast<std::size_t>(-1);

[[noreturn]] void fail(std::size_t line, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::usage,
              fmt::format("line {}: found {}, expected {}", line, found, expected));
}

// A run of chunks of one rank, in a buffer of PlanAddress.
struct Chunks {
  int buffer = 0;
  std::size_t first = 0;
  std::size_t count = 0;

  bool operator==(const Chunks&) const = default;

  bool overlaps(const Chunks& other) const {
    return buffer == other.buffer && first < other.first + other.count &&
           other.first < first + count;
  }
};

// Where the buffers of the file are in memory.
class Layout {
 public:
  explicit Layout(const MscclFile& file) : file_(file), collective_(collective_of(file)) {
    const std::size_t ranks = file.gpus.size();
    gathers_ = collective_ == Collective::allgather || collective_ == Collective::gather;
    scatters_ = collective_ == Collective::reduce_scatter || collective_ == Collective::scatter;
    part_ = file.chunks / ranks;
    const bool has_parts = gathers_ || scatters_ || collective_ == Collective::alltoall;
    if (!has_parts || file.chunks % ranks == 0) return;
    fail(
        file.line,
        fmt::format("nchunksperloop=\"{}\" of {} on {} ranks", file.chunks, file.collective, ranks),
        fmt::format("a multiple of {}", ranks));
  }

  Chunks chunks_of(std::size_t rank, const MscclStep& step, const MscclStep::Place& place) const {
    const std::size_t size = size_of(rank, place.buffer);
    if (place.chunk + step.count > size) {
      fail(step.line,
           fmt::format("chunks {} to {} of '{}'", place.chunk, place.chunk + step.count - 1,
                       place.buffer),
           fmt::format("chunks below {}", size));
    }
    if (place.buffer == 's') return {MscclGraph::scratch_buffer, place.chunk, step.count};
    if (!file_.in_place) return {place.buffer == 'i' ? 1 : 0, place.chunk, step.count};
    const bool is_part = place.buffer == 'i' ? gathers_ : scatters_;
    return {0, place.chunk + (is_part ? rank * part_ : 0), step.count};
  }

 private:
  std::size_t size_of(std::size_t rank, char buffer) const {
    const MscclGpu& gpu = file_.gpus[rank];
    if (buffer == 's') return gpu.scratch_chunks;
    if (!collective_) return buffer == 'i' ? gpu.input_chunks : gpu.output_chunks;
    return (buffer == 'i' ? gathers_ : scatters_) ? part_ : file_.chunks;
  }

  const MscclFile& file_;
  std::optional<Collective> collective_;
  bool gathers_ = false;
  bool scatters_ = false;
  std::size_t part_ = 0;
};

class Translation {
 public:
  Translation(const MscclFile& file, std::size_t chunk_bytes, double gamma_seconds_per_byte,
              const std::vector<bool>& staged)
      : file_(file),
        layout_(file),
        chunk_bytes_(chunk_bytes),
        gamma_seconds_per_byte_(gamma_seconds_per_byte),
        staged_(staged) {
    result_.graph.ranks = static_cast<int>(file.gpus.size());
    result_.temporary_chunks.resize(file.gpus.size(), 0);
  }

  MscclGraph translate() {
    for (std::size_t rank = 0; rank < file_.gpus.size(); ++rank) {
      touched_.clear();
      std::vector<std::vector<StepEnds>> ends;
      for (const MscclThreadblock& block : file_.gpus[rank].threadblocks) {
        ends.push_back(translate(rank, block));
        ++threadblock_;
      }
      await(file_.gpus[rank], ends);
    }
    return std::move(result_);
  }

 private:
  // The first and last operation of a step, and the last up to it that is no nop.
  struct StepEnds {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t done = 0;
  };

  std::vector<StepEnds> translate(std::size_t rank, const MscclThreadblock& block) {
    std::vector<StepEnds> ends;
    previous_ = nop_ = none;
    for (const MscclStep& step : block.steps) {
      const std::size_t first = result_.events.size();
      line_ = step.line;
      if (step.count == 0) {
        add_work(rank, Work::Kind::compute, {}, {});
      } else {
        translate(rank, block, step);
      }
      ends.push_back({first, result_.events.size() - 1, previous_});
      ++step_;
    }
    return ends;
  }

  void translate(std::size_t rank, const MscclThreadblock& block, const MscclStep& step) {
    const bool is_staged = step_ < staged_.size() && staged_[step_];
    Chunks source, target;
    if (step.type != Type::recv && step.type != Type::recv_copy_send) {
      source = touch(layout_.chunks_of(rank, step, step.source), step.line);
    }
    if (step.type != Type::send && step.type != Type::recv_reduce_send) {
      target = touch(layout_.chunks_of(rank, step, step.target), step.line);
    }
    if (step.type == Type::copy) return add_work(rank, Work::Kind::copy, target, source);
    if (step.type == Type::reduce) return add_work(rank, Work::Kind::reduce, target, source);
    Chunks outgoing = source;
    if (step.receives()) outgoing = receive(rank, block, step, source, target);
    if (!step.sends()) return;
    if (is_staged && outgoing.buffer != MscclGraph::temporary_buffer) {
      const Chunks copy = temporary(rank, step.count);
      add_work(rank, Work::Kind::copy, copy, outgoing);
      outgoing = copy;
    }
    add_message(rank, Kind::send, block.send, block.channel, outgoing, Op::replace);
  }

  // Returns where what was received, and perhaps reduced, is afterwards.
  Chunks receive(std::size_t rank, const MscclThreadblock& block, const MscclStep& step,
                 const Chunks& source, const Chunks& target) {
    const auto into = [&](const Chunks& chunks, Op op) {
      add_message(rank, Kind::recv, block.recv, block.channel, chunks, op);
    };
    if (step.type == Type::recv || step.type == Type::recv_copy_send) {
      into(target, Op::replace);
      return target;
    }
    const bool keeps = step.type != Type::recv_reduce_send;
    if (keeps && source == target) {
      into(target, Op::sum);
      return target;
    }
    const Chunks sum = keeps && !source.overlaps(target) ? target : temporary(rank, step.count);
    into(sum, Op::replace);
    add_work(rank, Work::Kind::reduce, sum, source);
    if (keeps && !(sum == target)) add_work(rank, Work::Kind::copy, target, sum);
    return sum;
  }

  Chunks temporary(std::size_t rank, std::size_t count) {
    std::size_t& used = result_.temporary_chunks[rank];
    const Chunks chunks{MscclGraph::temporary_buffer, used, count};
    used += count;
    return chunks;
  }

  // Counts what is touched, so that nobody has to hold more.
  Chunks touch(const Chunks& chunks, std::size_t line) {
    const auto slot = static_cast<std::size_t>(chunks.buffer - MscclGraph::scratch_buffer);
    if (touched_.size() <= slot) touched_.resize(slot + 1, 0);
    const std::size_t end = chunks.first + chunks.count;
    if (end > touched_[slot]) {
      memory_chunks_ += end - touched_[slot];
      touched_[slot] = end;
    }
    moved_chunks_ += chunks.count;
    if (std::max(memory_chunks_, moved_chunks_) > most_chunks) {
      fail(line, "too many chunks", fmt::format("{} in all steps together", most_chunks));
    }
    return chunks;
  }

  PlanAddress address_of(const Chunks& chunks) const {
    return {chunks.buffer, chunks.first * chunk_bytes_};
  }

  void add_message(std::size_t rank, Kind kind, int peer, int channel, const Chunks& chunks,
                   Op op) {
    GoalOperation operation;
    operation.kind = kind == Kind::send ? GoalOperation::Kind::send : GoalOperation::Kind::recv;
    operation.peer = peer;
    operation.tag = channel;
    operation.bytes = chunks.count * chunk_bytes_;
    PlanEvent event;
    event.kind = kind;
    event.address = address_of(chunks);
    event.count = operation.bytes;
    event.dtype = DType::uint8;
    event.op = op;
    add(rank, std::move(operation), event);
  }

  void add_work(std::size_t rank, Work::Kind kind, const Chunks& target, const Chunks& source) {
    GoalOperation operation;
    operation.kind = GoalOperation::Kind::calc;
    PlanEvent event;
    event.kind = Kind::work;
    event.work = kind;
    event.address = address_of(target);
    event.source = address_of(source);
    event.count = target.count * chunk_bytes_;
    event.dtype = DType::uint8;
    event.op = kind == Work::Kind::reduce ? Op::sum : Op::replace;
    operation.seconds = static_cast<double>(event.count) * gamma_seconds_per_byte_;
    operation.label = kind == Work::Kind::compute ? "nop" : "local work";
    add(rank, std::move(operation), event);
  }

  void add(std::size_t rank, GoalOperation operation, const PlanEvent& event) {
    operation.rank = static_cast<int>(rank);
    operation.line = line_;
    result_.graph.operations.push_back(std::move(operation));
    result_.events.push_back(event);
    result_.threadblocks.push_back(threadblock_);
    result_.steps.push_back(step_);
    follow(result_.events.size() - 1);
  }

  // A receive may be posted during the one before, which arrives before. A nop lets what is behind
  // it wait for more, not for what is in front of it to end.
  void follow(std::size_t operation) {
    if (nop_ != none) require(operation, nop_);
    nop_ = is_nop(operation) ? operation : none;
    if (previous_ != none) {
      const bool overlaps = result_.events[operation].kind == Kind::recv &&
                            result_.events[previous_].kind == Kind::recv;
      if (overlaps || is_nop(operation)) {
        result_.graph.operations[operation].requires_start.push_back(previous_);
      } else {
        require(operation, previous_);
      }
    }
    if (!is_nop(operation)) previous_ = operation;
  }

  bool is_nop(std::size_t operation) const {
    const PlanEvent& event = result_.events[operation];
    return event.kind == Kind::work && event.work == Work::Kind::compute;
  }

  void require(std::size_t operation, std::size_t other) {
    GoalOperation& waits = result_.graph.operations[operation];
    const bool is_send = result_.events[other].kind == Kind::send;
    (is_send ? waits.requires_start : waits.requires_end).push_back(other);
  }

  void await(const MscclGpu& gpu, const std::vector<std::vector<StepEnds>>& ends) {
    for (std::size_t block = 0; block < ends.size(); ++block) {
      for (std::size_t i = 0; i < ends[block].size(); ++i) {
        const MscclStep& step = gpu.threadblocks[block].steps[i];
        if (step.awaited < 0) continue;
        const StepEnds& awaited = ends[static_cast<std::size_t>(step.awaited)][step.awaited_step];
        require(ends[block][i].first, awaited.last);
        if (awaited.done != none && awaited.done != awaited.last) {
          require(ends[block][i].first, awaited.done);
        }
      }
    }
  }

  const MscclFile& file_;
  Layout layout_;
  std::size_t chunk_bytes_;
  double gamma_seconds_per_byte_;
  const std::vector<bool>& staged_;
  MscclGraph result_;
  std::vector<std::size_t> touched_;  // Of the rank, by buffer.
  std::size_t memory_chunks_ = 0;
  std::size_t moved_chunks_ = 0;
  std::size_t threadblock_ = 0;
  std::size_t step_ = 0;
  std::size_t line_ = 0;
  std::size_t previous_ = none;  // Of the threadblock's operations that are no nops.
  std::size_t nop_ = none;       // The operation before, if it is a nop.
};

}  // namespace

std::optional<Collective> collective_of(const MscclFile& file) {
  if (file.collective == "reducescatter") return Collective::reduce_scatter;
  for (const Collective collective : all_collectives()) {
    if (collective != Collective::barrier && name_of(collective) == file.collective) {
      return collective;
    }
  }
  return std::nullopt;
}

MscclGraph graph_of(const MscclFile& file, std::size_t chunk_bytes, double gamma_seconds_per_byte,
                    const std::vector<bool>& staged) {
  return Translation(file, chunk_bytes, gamma_seconds_per_byte, staged).translate();
}

}  // namespace tutti
