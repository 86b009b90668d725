#include "collectives/proof.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "collectives/parts.hpp"
#include "collectives/plan_walk.hpp"
#include "collectives/symbols.hpp"

namespace tutti {
namespace {

// One element of a rank's memory.
struct Cell {
  Symbol value = unset;
  std::uint32_t open = 0;  // Sends under way in it, or `receiving`.
};

constexpr std::uint32_t receiving = static_cast<std::uint32_t>(-1);

// A run of elements in one rank's memory.
struct Region {
  int buffer = -1;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Part `index` of the whole buffer, as a range of elements.
Region part_of(const Promise& promise, int index) {
  std::size_t first = 0;
  if (promise.counts.empty()) {
    const Block whole{nullptr, promise.count, DType::int8};
    first = whole.part_begin(index, promise.ranks);
    return {0, first, whole.part_begin(index + 1, promise.ranks) - first};
  }
  for (int i = 0; i < index; ++i) first += promise.counts[static_cast<std::size_t>(i)];
  return {0, first, promise.counts[static_cast<std::size_t>(index)]};
}

class Prover final : public PlanVisitor {
 public:
  Prover(const Plan& plan, const std::vector<PlanMessage>& messages, const Promise& promise)
      : plan_(plan),
        messages_(messages),
        promise_(promise),
        symbols_(promise.ranks),
        memory_(static_cast<std::size_t>(promise.ranks)),
        payloads_(messages.size()),
        hears_(promise.collective == Collective::barrier),
        heard_(static_cast<std::size_t>(promise.ranks)),
        heard_in_(hears_ ? messages.size() : 0) {
    for (int rank = 0; rank < promise.ranks; ++rank) {
      std::vector<bool>& heard = heard_[static_cast<std::size_t>(rank)];
      if (hears_) {
        heard.assign(static_cast<std::size_t>(promise.ranks), false);
        heard[static_cast<std::size_t>(rank)] = true;
      }
      contribute(rank);
    }
  }

  void posted(std::size_t program, std::size_t message, bool is_send) override {
    const PlanEvent& event = *(is_send ? messages_[message].send : messages_[message].recv);
    const int rank = plan_.programs[program].rank;
    const Region region = region_of(event.address, event);
    if (is_send) {
      if (hears_) heard_in_[message] = heard_[static_cast<std::size_t>(rank)];
      payloads_[message] = sent_.size();
      const std::span<const Cell> cells = read(rank, region, event.step);
      for (const Cell& cell : cells) sent_.push_back(cell.value);
      for (Cell& cell : cells_of(rank, region)) ++cell.open;
    } else {
      const std::span<Cell> cells = idle_cells_of(rank, region, event.step);
      for (Cell& cell : cells) cell.open = receiving;
    }
  }

  void finished(std::size_t program, std::size_t message, bool is_send) override {
    const PlanEvent& event = *(is_send ? messages_[message].send : messages_[message].recv);
    const int rank = plan_.programs[program].rank;
    const Region region = region_of(event.address, event);
    if (is_send) {
      for (Cell& cell : cells_of(rank, region)) --cell.open;
      return;
    }
    for (Cell& cell : cells_of(rank, region)) cell.open = 0;
    if (hears_) hear(heard_[static_cast<std::size_t>(rank)], heard_in_[message]);
    absorb(rank, region, {sent_.data() + payloads_[message], region.count}, event.op, event.step);
  }

  void worked(std::size_t program, const PlanEvent& event) override {
    const int rank = plan_.programs[program].rank;
    const Region target = region_of(event.address, event);
    switch (event.work) {
      case Work::Kind::scratch:
        for (Cell& cell : idle_cells_of(rank, target, event.step)) cell.value = unset;
        return;
      case Work::Kind::copy:
      case Work::Kind::reduce:
        values_.clear();
        for (const Cell& cell : read(rank, region_of(event.source, event), event.step)) {
          values_.push_back(cell.value);
        }
        return absorb(rank, target, values_,
                      event.work == Work::Kind::copy ? Op::replace : event.op, event.step);
      case Work::Kind::scale:
      case Work::Kind::compute:
        return;
    }
  }

  /// After the walk.
  void conclude() {
    if (promise_.collective == Collective::barrier) check_barrier();
    for (int rank = 0; rank < promise_.ranks; ++rank) check_result(rank);
  }

  std::vector<FoldTree> folds() const {
    std::vector<FoldTree> trees;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::string text = symbols_.text_of(results_[i]);
      if (!trees.empty() && trees.back().text == text) {
        trees.back().last_element = i;
      } else {
        trees.push_back({i, i, text});
      }
    }
    return trees;
  }

 private:
  [[noreturn]] void fail(int rank, std::size_t element, int step, const std::string& what) const {
    const std::string place = step == 0 ? "" : fmt::format(" (step {})", step);
    throw Error(
        ErrorKind::mismatch,
        fmt::format("proof: {} on {} ranks: {} {} of rank {} {}{}", name_of(promise_.collective),
                    promise_.ranks, promise_.unit, element, rank, what, place),
        rank);
  }

  Region region_of(PlanAddress address, const PlanEvent& event) const {
    // A ghost is nowhere.
    const std::size_t count = event.ghost ? 0 : event.bytes() / promise_.element_bytes;
    return {address.buffer, address.offset_bytes / promise_.element_bytes, count};
  }

  static void hear(std::vector<bool>& heard, const std::vector<bool>& from) {
    for (std::size_t i = 0; i < heard.size(); ++i) heard[i] = heard[i] || from[i];
  }

  // A rank's buffers grow as they are touched.
  std::span<Cell> cells_of(int rank, const Region& region) {
    auto& buffers = memory_[static_cast<std::size_t>(rank)];
    const auto slot = static_cast<std::size_t>(region.buffer >= 0 ? 2 * region.buffer + 1
                                                                  : 2 * (-1 - region.buffer));
    if (buffers.size() <= slot) buffers.resize(slot + 1);
    std::vector<Cell>& cells = buffers[slot];
    if (cells.size() < region.first + region.count) cells.resize(region.first + region.count);
    return {cells.data() + region.first, region.count};
  }

  // Those of a region that no message is under way in, to be written.
  std::span<Cell> idle_cells_of(int rank, const Region& region, int step) {
    const std::span<Cell> cells = cells_of(rank, region);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].open != 0) fail_busy(rank, region.first + i, step);
    }
    return cells;
  }

  // Those of a region that has been written and is not being received, to be read.
  std::span<const Cell> read(int rank, const Region& region, int step) {
    const std::span<Cell> cells = cells_of(rank, region);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].open == receiving) fail_busy(rank, region.first + i, step);
      if (cells[i].value == unset) {
        fail(rank, region.first + i, step, "is read before it was written");
      }
    }
    return cells;
  }

  [[noreturn]] void fail_busy(int rank, std::size_t element, int step) const {
    fail(rank, element, step, "is touched while another message is under way in it");
  }

  void absorb(int rank, const Region& region, std::span<const Symbol> message, Op op, int step) {
    const std::span<Cell> cells = idle_cells_of(rank, region, step);
    if (op != Op::replace) read(rank, region, step);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      Symbol& own = cells[i].value;
      if (op == Op::replace) {
        own = message[i];
        continue;
      }
      const Symbol folded = symbols_.fold(own, message[i]);
      if (folded == unset) {
        fail(rank, region.first + i, step,
             fmt::format("holds {} and cannot absorb {} of {} {}", text_of(own),
                         text_of(message[i]), promise_.unit, symbols_.element_of(message[i])));
      }
      own = folded;
    }
  }

  // The rank's own contribution to the elements of `region`.
  void contribute(int rank, Region region) {
    const std::size_t first = region.first;
    if (promise_.out_of_place) {
      const bool is_part =
          promise_.collective == Collective::allgather || promise_.collective == Collective::gather;
      region = {1, is_part ? 0 : first, region.count};
    }
    const std::span<Cell> cells = cells_of(rank, region);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].value = symbols_.contribution(rank, first + i);
    }
  }

  // What is in a rank's buffers at the beginning.
  void contribute(int rank) {
    const Region whole{0, 0, promise_.count};
    switch (promise_.collective) {
      case Collective::allreduce:
      case Collective::reduce_scatter:
      case Collective::reduce:
      case Collective::alltoall:
        return contribute(rank, whole);
      case Collective::broadcast:
      case Collective::scatter:
        if (rank == promise_.root) contribute(rank, whole);
        return;
      case Collective::allgather:
      case Collective::gather:
        return contribute(rank, part_of(promise_, rank));
      case Collective::barrier:
        return;
    }
  }

  // Throws unless the rank's elements of `region` are what `expected` says of each.
  template <typename Expected>
  void check_region(int rank, const Region& region, const Expected& expected) {
    const bool is_part = promise_.collective == Collective::reduce_scatter ||
                         promise_.collective == Collective::scatter;
    const std::size_t first = promise_.out_of_place && is_part ? 0 : region.first;
    const std::span<const Cell> cells = cells_of(rank, {region.buffer, first, region.count});
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].value == unset) fail(rank, first + i, 0, "was never written");
      if (expected(cells[i].value, region.first + i)) continue;
      fail(rank, first + i, 0, describe_result(cells[i].value, region.first + i));
    }
  }

  std::string describe_result(Symbol value, std::size_t element) const {
    const std::string text = fmt::format("ends as {} of {} {}", text_of(value), promise_.unit,
                                         symbols_.element_of(value));
    if (!reduces(promise_.collective) || symbols_.element_of(value) != element) return text;
    const int missing = symbols_.missing_from(value);
    if (missing < 0) return text + ", unlike on other ranks";
    return fmt::format("{} and lacks the contribution of rank {}", text, missing);
  }

  // Of what many ranks contributed to, the order does not help.
  std::string text_of(Symbol value) const {
    if (value == unset) return "unset";
    const int contributions = symbols_.contributions_of(value);
    if (contributions <= 64) return symbols_.text_of(value);
    return fmt::format("the sum of {} ranks", contributions);
  }

  void check_reduced(int rank, const Region& region) {
    results_.resize(promise_.count, unset);
    check_region(rank, region, [&](Symbol value, std::size_t element) {
      if (symbols_.element_of(value) != element || !symbols_.is_complete(value)) return false;
      Symbol& result = results_[element];
      if (result == unset) result = value;
      return result == value || !promise_.same_folds;
    });
  }

  void check_from(int rank, const Region& region, int owner) {
    check_region(rank, region, [&](Symbol value, std::size_t element) {
      return symbols_.rank_of(value) == owner && symbols_.element_of(value) == element;
    });
  }

  void check_all_parts(int rank) {
    for (int owner = 0; owner < promise_.ranks; ++owner) {
      check_from(rank, part_of(promise_, owner), owner);
    }
  }

  // Part i of the result is what rank i has for this rank.
  void check_exchanged(int rank) {
    const Region own = part_of(promise_, rank);
    for (int owner = 0; owner < promise_.ranks; ++owner) {
      const Region region = part_of(promise_, owner);
      check_region(rank, region, [&](Symbol value, std::size_t element) {
        return symbols_.rank_of(value) == owner &&
               symbols_.element_of(value) == own.first + (element - region.first);
      });
    }
  }

  void check_result(int rank) {
    const Region whole{0, 0, promise_.count};
    const bool is_root = rank == promise_.root;
    switch (promise_.collective) {
      case Collective::allreduce:
        return check_reduced(rank, whole);
      case Collective::reduce_scatter:
        return check_reduced(rank, part_of(promise_, rank));
      case Collective::reduce:
        return is_root ? check_reduced(rank, whole) : void();
      case Collective::broadcast:
        return check_from(rank, whole, promise_.root);
      case Collective::scatter:
        return check_from(rank, part_of(promise_, rank), promise_.root);
      case Collective::allgather:
        return check_all_parts(rank);
      case Collective::gather:
        return is_root ? check_all_parts(rank) : void();
      case Collective::alltoall:
        return check_exchanged(rank);
      case Collective::barrier:
        return;
    }
  }

  void check_barrier() const {
    for (int rank = 0; rank < promise_.ranks; ++rank) {
      const std::vector<bool>& heard = heard_[static_cast<std::size_t>(rank)];
      const auto missing = std::find(heard.begin(), heard.end(), false);
      if (missing == heard.end()) continue;
      throw Error(ErrorKind::mismatch,
                  fmt::format("proof: barrier on {} ranks: rank {} leaves without having heard "
                              "from rank {}",
                              promise_.ranks, rank, missing - heard.begin()),
                  rank);
    }
  }

  const Plan& plan_;
  const std::vector<PlanMessage>& messages_;
  const Promise& promise_;
  Symbols symbols_;
  std::vector<std::vector<std::vector<Cell>>> memory_;  // By rank and buffer.
  std::vector<Symbol> sent_;                            // Of all messages, one after the other.
  std::vector<std::size_t> payloads_;                   // By message: where in sent_ it begins.
  bool hears_;                                          // Whether the following are kept.
  std::vector<std::vector<bool>> heard_;                // By rank: from whom, directly or not.
  std::vector<std::vector<bool>> heard_in_;             // By message: what its sender had heard.
  std::vector<Symbol> values_;                          // Of one event.
  std::vector<Symbol> results_;
};

// Walks through the plan and concludes; the messages live as long as the prover.
template <typename Conclude>
auto prove_with(const Plan& plan, const Promise& promise, const Conclude& conclude) {
  check(plan.size == promise.ranks, "proof: a plan of {} ranks, a promise of {}", plan.size,
        promise.ranks);
  const std::vector<PlanMessage> messages = match(plan);
  Prover prover(plan, messages, promise);
  walk(plan, messages, prover);
  prover.conclude();
  return conclude(prover);
}

}  // namespace

void prove(const Plan& plan, const Promise& promise) {
  prove_with(plan, promise, [](const Prover&) {});
}

std::vector<FoldTree> fold_trees(const Plan& plan, const Promise& promise) {
  return prove_with(plan, promise, [](const Prover& prover) { return prover.folds(); });
}

}  // namespace tutti
