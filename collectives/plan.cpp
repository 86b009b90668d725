#include "collectives/plan.hpp"

#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <utility>

#include "collectives/plan_check.hpp"

namespace tutti {
namespace {

constexpr std::size_t alignment_bytes = 128;

}  // namespace

PlanChannel::PlanChannel(int rank, int size, PlanProgram& program, Locate locate)
    : Channel(rank, size), program_(program), locate_(std::move(locate)) {}

std::string_view PlanProgram::call_of(const PlanEvent& event) const {
  if (event.call < 0) return "no collective";
  return calls[static_cast<std::size_t>(event.call)];
}

// Memory of a Scratch may be used again by a later one, so the latest is asked first.
PlanAddress PlanChannel::address_of(Block block) const {
  const PlanAddress known = locate_(block);
  if (known.buffer >= 0 || block.is_ghost()) return known;
  const std::less_equal<const std::byte*> up_to;
  for (std::size_t i = scratch_.size(); i-- > 0;) {
    const Block scratch = scratch_[i];
    if (up_to(scratch.data, block.data) && up_to(block.data, scratch.data + scratch.bytes())) {
      return {-2 - static_cast<int>(i), static_cast<std::size_t>(block.data - scratch.data)};
    }
  }
  return {};
}

Request PlanChannel::post(PlanEvent event, Block block) {
  event.address = address_of(block);
  event.ghost = block.is_ghost();
  event.count = block.count;
  event.dtype = block.dtype;
  is_open_.push_back(true);
  ++open_requests_;
  event.request = is_open_.size();
  event.step = progress().step;
  if (progress().depth > 0) {
    event.signature = progress().signature;
    if (recorded_call_ != progress().sequence) {
      program_.calls.push_back(progress().call.describe());
      recorded_call_ = progress().sequence;
    }
    event.call = static_cast<int>(program_.calls.size()) - 1;
  }
  program_.events.push_back(event);
  return Request{event.request};
}

Request PlanChannel::post_send(int to, Block block) {
  PlanEvent event;
  event.kind = PlanEvent::Kind::send;
  event.peer = to;
  return post(event, block);
}

Request PlanChannel::post_recv(int from, Block block, Op op) {
  PlanEvent event;
  event.kind = PlanEvent::Kind::recv;
  event.peer = from;
  event.op = op;
  return post(event, block);
}

void PlanChannel::complete(Request request) {
  check(request.id <= is_open_.size() && is_open_[request.id - 1],
        "plan: rank {} waits for request {}, which is not open", rank(), request.id);
  is_open_[request.id - 1] = false;
  --open_requests_;
  PlanEvent event;
  event.kind = PlanEvent::Kind::wait;
  event.request = request.id;
  event.step = progress().step;
  program_.events.push_back(event);
}

void PlanChannel::charge(const Work& work) {
  if (work.kind == Work::Kind::scratch) scratch_.push_back(work.target);
  PlanEvent event;
  event.kind = PlanEvent::Kind::work;
  event.work = work.kind;
  event.seconds = work.seconds;
  event.address = address_of(work.target);
  event.source = address_of(work.source);
  event.ghost = work.target.is_ghost();
  event.count = work.target.count;
  event.dtype = work.target.dtype;
  event.op = work.op;
  event.step = progress().step;
  program_.events.push_back(event);
}

// Memory that a plan's blocks may point to, so that they keep their addresses apart. Large buffers
// take no physical memory until they are touched, which recording hardly does.
struct PlanWorld::Buffer {
  explicit Buffer(std::size_t size_bytes)
      : bytes(size_bytes), owned(std::calloc(size_bytes + alignment_bytes, 1)) {
    void* aligned = owned;
    std::size_t space = size_bytes + alignment_bytes;
    if (owned == nullptr || std::align(alignment_bytes, size_bytes, aligned, space) == nullptr) {
      throw Error(ErrorKind::system, fmt::format("plan: no memory for {} bytes", size_bytes));
    }
    memory = static_cast<std::byte*>(aligned);
  }
  ~Buffer() { std::free(owned); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::size_t bytes;
  void* owned;
  std::byte* memory = nullptr;
};

// One rank while its program is recorded.
class PlanWorld::Recorder final : public Rank {
 public:
  Recorder(PlanWorld& world, int index) : Rank(index, world.size(), world.seed_), world_(world) {}

  Channel& channel(int lane) override {
    check(lane >= 0 && lane < world_.lanes(), "plan: lane {} is not one of {}", lane,
          world_.lanes());
    auto& slot = channels_[lane];
    if (!slot.channel) {
      slot.program = PlanProgram{index(), lane, {}, {}};
      slot.channel = std::make_unique<PlanChannel>(
          index(), size(), slot.program,
          [this](const Block& block) { return world_.locate(block); });
    }
    return *slot.channel;
  }

  // What a task records depends on nothing that happens beside it.
  void spawn(std::function<void()> task) override { task(); }

  void finish() {
    for (auto& [lane, slot] : channels_) {
      check(slot.channel->open_requests() == 0, "plan: rank {} ends with {} open requests", index(),
            slot.channel->open_requests());
      world_.plan_.programs.push_back(std::move(slot.program));
    }
  }

 private:
  struct Slot {
    PlanProgram program;
    std::unique_ptr<PlanChannel> channel;
  };

  PlanWorld& world_;
  std::map<int, Slot> channels_;
};

PlanWorld::PlanWorld(int size, int lanes, std::uint64_t seed) : World(size, lanes), seed_(seed) {
  check(size >= 1 && lanes >= 1, "plan: a world of {} ranks and {} lanes", size, lanes);
}

PlanWorld::~PlanWorld() = default;

std::byte* PlanWorld::allocate(std::size_t bytes) {
  buffers_.push_back(std::make_unique<Buffer>(bytes));
  return buffers_.back()->memory;
}

PlanAddress PlanWorld::locate(const Block& block) const {
  const std::less_equal<const std::byte*> up_to;
  for (std::size_t i = 0; i < buffers_.size() && !block.is_ghost(); ++i) {
    const Buffer& buffer = *buffers_[i];
    if (up_to(buffer.memory, block.data) && up_to(block.data, buffer.memory + buffer.bytes)) {
      return {static_cast<int>(i), static_cast<std::size_t>(block.data - buffer.memory)};
    }
  }
  return {};
}

Plan PlanWorld::record(const Program& program) {
  plan_ = Plan{size(), {}};
  for (int index = 0; index < size(); ++index) {
    Recorder recorder(*this, index);
    try {
      program(recorder);
      recorder.finish();
    } catch (...) {
      throw_failure(std::current_exception(), index);
    }
  }
  return std::move(plan_);
}

void PlanWorld::run(const Program& program) {
  plan_ = record(program);
  check_matching(plan_);
  replay(plan_, CostModel{});
}

Plan record(int size, const std::function<void(Channel&)>& program) {
  Plan plan{size, {}};
  for (int rank = 0; rank < size; ++rank) {
    plan.programs.push_back(PlanProgram{rank, 0, {}, {}});
    PlanChannel channel(rank, size, plan.programs.back(),
                        [](const Block&) { return PlanAddress{}; });
    program(channel);
  }
  return plan;
}

}  // namespace tutti
