#include "collectives/msccl_accesses.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tutti {
namespace {

using Kind = PlanEvent::Kind;
using Index = std::uint32_t;

constexpr Index nobody = static_cast<Index>(-1);
constexpr std::size_t most_visits = std::size_t{1} << 27;

// Who has touched a chunk: its last writer, and a list of those who have read since.
struct Chunk {
  Index writer = nobody;
  Index readers = nobody;
};

struct Reader {
  Index operation;
  Index next;
};

// A conflict whose order is not known yet.
struct Question {
  std::size_t threadblock = 0;  // Of `before`.
  MscclConflict conflict;
  int buffer = 0;
  std::size_t chunk = 0;
};

class Scan {
 public:
  Scan(const MscclGraph& graph, const GoalSchedule& schedule, std::size_t chunk_bytes)
      : graph_(graph), schedule_(schedule), chunk_bytes_(chunk_bytes) {
    order_.resize(graph.events.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(time_of(a), a) < std::pair(time_of(b), b);
    });
    awaited_.resize(graph.threadblocks.empty() ? 0 : graph.threadblocks.back() + 1);
  }

  MscclAccesses scan() {
    for (const std::size_t operation : order_) {
      note_waits(operation);
      touch(operation);
    }
    answer();
    return std::move(result_);
  }

 private:
  bool is_send(std::size_t operation) const { return graph_.events[operation].kind == Kind::send; }

  bool are_receives(std::size_t a, std::size_t b) const {
    return graph_.events[a].kind == Kind::recv && graph_.events[b].kind == Kind::recv;
  }

  std::size_t time_of(std::size_t operation) const {
    return (is_send(operation) ? schedule_.start : schedule_.end)[operation];
  }

  // Calls visit for what must have happened before the operation.
  template <typename Visit>
  void for_each_cause(std::size_t operation, const Visit& visit) const {
    const GoalOperation& one = graph_.graph.operations[operation];
    for (const std::size_t other : one.requires_end) visit(other);
    for (const std::size_t other : one.requires_start) visit(other);
    if (one.kind == GoalOperation::Kind::recv) visit(schedule_.partner[operation]);
  }

  void note_waits(std::size_t operation) {
    const std::size_t own = graph_.threadblocks[operation];
    for_each_cause(operation, [&](std::size_t other) {
      if (graph_.threadblocks[other] == own) return;
      std::size_t& latest = awaited_[own][graph_.threadblocks[other]];
      latest = std::max(latest, other);
    });
  }

  void touch(std::size_t operation) {
    const PlanEvent& event = graph_.events[operation];
    const std::size_t count = event.count / chunk_bytes_;
    known_.clear();
    if (event.kind == Kind::work && event.work == Work::Kind::compute) return;
    if (event.kind == Kind::send) return read(operation, event.address, count);
    if (event.kind == Kind::work) read(operation, event.source, count);
    write(operation, event.address, count);
  }

  // The chunks of an address; none for temporaries, which one step alone touches.
  Chunk* chunks_at(std::size_t operation, PlanAddress address, std::size_t count) {
    if (address.buffer == MscclGraph::temporary_buffer) return nullptr;
    const std::size_t first = address.offset_bytes / chunk_bytes_;
    std::vector<Chunk>& chunks = chunks_[{graph_.graph.operations[operation].rank, address.buffer}];
    if (chunks.size() < first + count) chunks.resize(first + count);
    return chunks.data() + first;
  }

  void read(std::size_t operation, PlanAddress address, std::size_t count) {
    Chunk* const chunks = chunks_at(operation, address, count);
    for (std::size_t i = 0; chunks != nullptr && i < count; ++i) {
      meet(chunks[i].writer, operation, address, i);
      readers_.push_back({static_cast<Index>(operation), chunks[i].readers});
      chunks[i].readers = static_cast<Index>(readers_.size() - 1);
    }
  }

  void write(std::size_t operation, PlanAddress address, std::size_t count) {
    Chunk* const chunks = chunks_at(operation, address, count);
    for (std::size_t i = 0; chunks != nullptr && i < count; ++i) {
      meet(chunks[i].writer, operation, address, i);
      for (Index at = chunks[i].readers; at != nobody; at = readers_[at].next) {
        meet(readers_[at].operation, operation, address, i);
      }
      chunks[i] = {static_cast<Index>(operation), nobody};
    }
  }

  void meet(Index before, std::size_t after, PlanAddress address, std::size_t i) {
    if (before == nobody || before == after) return;
    if (std::find(known_.begin(), known_.end(), before) != known_.end()) return;
    if (known_.size() < 8) known_.push_back(before);
    const std::size_t other = graph_.threadblocks[before];
    const std::size_t own = graph_.threadblocks[after];
    bool is_ordered = other == own;
    if (!is_ordered) {
      const auto found = awaited_[own].find(other);
      is_ordered = found != awaited_[own].end() && found->second >= before;
    }
    const bool may_overlap = is_send(before) || (other == own && are_receives(before, after));
    if (may_overlap || !is_ordered) result_.conflicts.push_back({before, after});
    if (is_ordered) return;
    questions_.push_back(
        {other, {before, after}, address.buffer, address.offset_bytes / chunk_bytes_ + i});
  }

  // Whether what was not waited for directly was waited for by way of others.
  void answer() {
    std::sort(questions_.begin(), questions_.end(),
              [](const Question& a, const Question& b) { return a.threadblock < b.threadblock; });
    std::size_t visits = 0;
    for (auto begin = questions_.begin(); begin != questions_.end();) {
      const auto end = std::find_if(begin, questions_.end(), [&](const Question& one) {
        return one.threadblock != begin->threadblock;
      });
      visits += order_.size();
      if (visits > most_visits) {
        result_.knows_race = false;
        return;
      }
      const std::vector<std::size_t> latest = latest_before(begin->threadblock);
      for (; begin != end; ++begin) {
        if (latest[begin->conflict.after] > begin->conflict.before) continue;
        result_.race = describe(*begin);
        return;
      }
    }
  }

  // By operation: 1 + the last of the threadblock's that happens before it, 0 for none.
  std::vector<std::size_t> latest_before(std::size_t threadblock) const {
    std::vector<std::size_t> latest(order_.size(), 0);
    for (const std::size_t operation : order_) {
      for_each_cause(operation, [&](std::size_t other) {
        const std::size_t own = graph_.threadblocks[other] == threadblock ? other + 1 : 0;
        latest[operation] = std::max({latest[operation], latest[other], own});
      });
    }
    return latest;
  }

  std::string describe(const Question& question) const {
    const auto& operations = graph_.graph.operations;
    const GoalOperation& before = operations[question.conflict.before];
    const GoalOperation& after = operations[question.conflict.after];
    const char* const buffer = question.buffer == MscclGraph::scratch_buffer ? "scratch"
                               : question.buffer == 1                        ? "input"
                                                                             : "data";
    return fmt::format(
        "rank {}: the steps of lines {} and {} both touch {} chunk {}, and neither "
        "waits for the other",
        before.rank, std::min(before.line, after.line), std::max(before.line, after.line), buffer,
        question.chunk);
  }

  const MscclGraph& graph_;
  const GoalSchedule& schedule_;
  std::size_t chunk_bytes_;
  std::vector<std::size_t> order_;
  // By threadblock: of other threadblocks, the last operation that was waited for directly.
  std::vector<std::unordered_map<std::size_t, std::size_t>> awaited_;
  std::map<std::pair<int, int>, std::vector<Chunk>> chunks_;  // By rank and buffer.
  std::vector<Reader> readers_;
  std::vector<Index> known_;  // Some of those that the current operation has met.
  std::vector<Question> questions_;
  MscclAccesses result_;
};

}  // namespace

MscclAccesses accesses_of(const MscclGraph& graph, const GoalSchedule& schedule,
                          std::size_t chunk_bytes) {
  return Scan(graph, schedule, chunk_bytes).scan();
}

}  // namespace tutti
