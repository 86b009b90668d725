#include "exec/board.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace tutti {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// Where the parts of a board lie in its memory.
struct Layout {
  Layout(int size, int lanes)
      : rank_count(static_cast<std::size_t>(size)),
        lane_count(rank_count * static_cast<std::size_t>(lanes)),
        queue_count(lane_count * rank_count),
        lanes_begin(line_bytes + aligned(rank_count * sizeof(RankRecord))),
        queues_begin(lanes_begin + aligned(lane_count * sizeof(LaneRecord))),
        end(queues_begin + queue_count * sizeof(Queue)) {}

  std::size_t rank_count, lane_count, queue_count;
  std::size_t lanes_begin, queues_begin, end;
};

template <typename T>
T* construct(std::byte* memory, std::size_t count) {
  T* const objects = reinterpret_cast<T*>(memory);
  std::uninitialized_default_construct_n(objects, count);
  return std::launder(objects);
}

}  // namespace

LargeTraffic& LargeTraffic::operator+=(const LargeTraffic& other) {
  arena_bytes += other.arena_bytes;
  memory_bytes += other.memory_bytes;
  queue_bytes += other.queue_bytes;
  return *this;
}

std::string LargeTraffic::describe() const {
  const double all = static_cast<double>(arena_bytes + memory_bytes + queue_bytes);
  std::string text;
  const auto add = [&](const char* name, std::uint64_t bytes) {
    if (bytes == 0) return;
    if (!text.empty()) text += ", ";
    const double share = 100.0 * static_cast<double>(bytes) / all;
    text += share == 100.0 ? name : fmt::format("{} {:.1f} %", name, share);
  };
  add("arena", arena_bytes);
  add("process_vm_readv", memory_bytes);
  add("queue", queue_bytes);
  return text;
}

// Groups lie behind the place that their hash names, in the order in which they came.
LaneRecord::Place LaneRecord::find(std::uint64_t group) const {
  if (group == 0) return {&world_calls};
  for (std::size_t i = 0; i < groups; ++i) {
    const GroupCalls& calls = group_calls[(group + i) % groups];
    const std::uint64_t found = calls.group.load();
    if (found == group) return {&calls};
    if (found == 0) return {};
  }
  return {nullptr, true};
}

GroupCalls* LaneRecord::claim(std::uint64_t group) {
  if (group == 0) return &world_calls;
  for (std::size_t i = 0; i < groups; ++i) {
    GroupCalls& calls = group_calls[(group + i) % groups];
    if (calls.group.load() != 0) continue;
    calls.group.store(group);
    return &calls;
  }
  return nullptr;
}

void FailureRecord::set(Cause new_cause, ErrorKind new_kind, const std::string& text) {
  kind = new_kind;
  message.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), message.size() - 1), message.begin());
  cause = new_cause;
}

Board::Board(int size, int lanes)
    : size_(size),
      lanes_(lanes),
      memory_(Layout(size, lanes).end, SharedMapping::Pages::unreserved) {
  const Layout layout(size, lanes);
  std::byte* const memory = memory_.data();
  header_ = new (memory) Header;
  ranks_ = construct<RankRecord>(memory + line_bytes, layout.rank_count);
  lane_records_ = construct<LaneRecord>(memory + layout.lanes_begin, layout.lane_count);
  queues_ = construct<Queue>(memory + layout.queues_begin, layout.queue_count);
}

LargeTraffic Board::large_traffic() const {
  std::array<std::uint64_t, 3> sums{};
  for (int i = 0; i < size_ * lanes_; ++i) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += lane_records_[i].large_bytes[k];
  }
  return {sums[0], sums[1], sums[2]};
}

std::string Board::describe_first_failure() const {
  const int rank = first_failed();
  const FailureRecord& failure = ranks_[rank].failure;
  if (failure.cause == FailureRecord::Cause::death) return failure.text();
  return fmt::format("rank {} failed: {}", rank, failure.text());
}

void Board::fail(int rank) const {
  int none = -1;
  header_->first_failed.compare_exchange_strong(none, rank);
  ring_all();
}

void Board::leave(int rank) const {
  ranks_[rank].left.store(true);
  ring_all();
}

void Board::ring_all() const {
  for (int i = 0; i < size_ * lanes_; ++i) lane_records_[i].bell.ring();
}

}  // namespace tutti
