// Plan: the program of every rank, recorded instead of executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/world.hpp"

namespace tutti {

/// Where a block lies in its rank's memory: the index of the buffer (in the order of
/// PlanWorld::allocate) and the byte offset in it. Buffer -1 is a ghost or unknown memory, buffer
/// -2 - k the k-th Scratch of the rank on its lane.
struct PlanAddress {
  int buffer = -1;
  std::size_t offset_bytes = 0;

  bool operator==(const PlanAddress&) const = default;
};

/// One thing a rank does.
struct PlanEvent {
  enum class Kind : std::uint8_t { send, recv, wait, work };

  Kind kind = Kind::send;
  int peer = -1;              ///< For send and recv.
  std::uint64_t request = 0;  ///< For send, recv and wait: unique within the rank and lane.
  PlanAddress address;        ///< Of the block sent or received; a work's target.
  PlanAddress source;         ///< A work's source.
  bool ghost = false;         ///< For send and recv.
  std::size_t count = 0;
  DType dtype = DType::float32;
  Op op = Op::replace;  ///< For recv and a work that reduces.
  Work::Kind work = Work::Kind::compute;
  double seconds = 0.0;  ///< For compute.
  int step = 0;
  std::uint64_t signature = 0;  ///< For send and recv; of the Call they belong to.
  int call = -1;                ///< Its description, as an index into PlanProgram::calls.

  std::size_t bytes() const { return count * bytes_of(dtype); }
  bool operator==(const PlanEvent&) const = default;
};

/// The events of one rank on one lane, in program order.
struct PlanProgram {
  int rank = 0;
  int lane = 0;
  std::vector<PlanEvent> events;
  std::vector<std::string> calls;

  /// The description of the event's call; "no collective" outside any.
  std::string_view call_of(const PlanEvent& event) const;

  bool operator==(const PlanProgram&) const = default;
};

struct Plan {
  int size = 0;
  std::vector<PlanProgram> programs;  ///< By rank, then lane; a lane never used has none.

  bool operator==(const Plan&) const = default;
};

/// "copy", "reduce", ...: the names that plans use.
std::string_view name_of(Work::Kind kind);

/// The plan as text, one event a line, for people and golden files: "rank 0 step 1 send to 1 bytes
/// 24..32 (2 float32), request 1". A ghost's bytes begin at 0.
std::string to_text(const Plan& plan);

/// A channel that records. Nothing moves and no memory is touched; now() is always 0.
class PlanChannel final : public Channel {
 public:
  /// Maps a block's data to its place in registered memory.
  using Locate = std::function<PlanAddress(const Block&)>;

  PlanChannel(int rank, int size, PlanProgram& program, Locate locate);
  double now() const override { return 0.0; }
  void set_deadline(double) override {}
  void charge(const Work& work) override;

  /// Requests posted and not yet waited for.
  std::size_t open_requests() const { return open_requests_; }

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  Request post(PlanEvent event, Block block);
  PlanAddress address_of(Block block) const;

  PlanProgram& program_;
  Locate locate_;
  std::vector<Block> scratch_;
  std::uint64_t recorded_call_ = 0;
  std::vector<bool> is_open_;  // By request - 1: requests are numbered from 1.
  std::size_t open_requests_ = 0;
};

/// A world whose run() records every rank's program, one rank after the other, and then checks the
/// plan as a substrate would: Error(mismatch) or Error(deadlock) if it cannot be executed.
class PlanWorld final : public World {
 public:
  explicit PlanWorld(int size, int lanes = 1, std::uint64_t seed = 0);
  ~PlanWorld() override;

  std::byte* allocate(std::size_t bytes) override;
  void run(const Program& program) override;

  /// Records and returns the plan without checking it.
  Plan record(const Program& program);

  /// The plan of the last run().
  const Plan& plan() const { return plan_; }

 private:
  class Recorder;
  struct Buffer;

  PlanAddress locate(const Block& block) const;

  std::uint64_t seed_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Plan plan_;
};

/// Records `program` with ghosts or unregistered memory, without checking the result.
Plan record(int size, const std::function<void(Channel&)>& program);

}  // namespace tutti
