#include "collectives/proof.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "collectives/parts.hpp"
#include "collectives/plan_walk.hpp"
#include "collectives/symbols.hpp"

namespace tutti {
namespace {

using Values = std::vector<Symbol>;

// The memory of one rank: buffers by PlanAddress::buffer, as long as they have been touched.
using Memory = std::map<int, Values>;

// A run of elements in one rank's memory.
struct Region {
  int buffer = -1;
  std::size_t first = 0;
  std::size_t count = 0;

  bool overlaps(const Region& other) const {
    return buffer == other.buffer && first < other.first + other.count &&
           other.first < first + count;
  }
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
        open_(plan.programs.size()),
        payloads_(messages.size()),
        heard_(static_cast<std::size_t>(promise.ranks)),
        heard_in_(messages.size()) {
    for (int rank = 0; rank < promise.ranks; ++rank) {
      std::vector<bool>& heard = heard_[static_cast<std::size_t>(rank)];
      heard.assign(static_cast<std::size_t>(promise.ranks), false);
      heard[static_cast<std::size_t>(rank)] = true;
      contribute(rank);
    }
  }

  void posted(std::size_t program, std::size_t message, bool is_send) override {
    const PlanEvent& event = *(is_send ? messages_[message].send : messages_[message].recv);
    const int rank = plan_.programs[program].rank;
    const Region region = region_of(event.address, event);
    for (const Open& open : open_[program]) {
      if ((is_send && open.is_send) || !open.region.overlaps(region)) continue;
      fail(rank, region.first, event.step, "is touched while another message is under way in it");
    }
    open_[program].push_back({message, is_send, region});
    if (!is_send) return;
    heard_in_[message] = heard_[static_cast<std::size_t>(rank)];
    if (!event.ghost) payloads_[message] = read(rank, region, event.step);
  }

  void finished(std::size_t program, std::size_t message, bool is_send) override {
    const PlanEvent& event = *(is_send ? messages_[message].send : messages_[message].recv);
    const int rank = plan_.programs[program].rank;
    std::vector<Open>& open = open_[program];
    const auto found = std::find_if(open.begin(), open.end(), [&](const Open& candidate) {
      return candidate.message == message && candidate.is_send == is_send;
    });
    const Region region = found->region;
    open.erase(found);
    if (is_send) {
      if (event.ghost || read(rank, region, event.step) == payloads_[message]) return;
      fail(rank, region.first, event.step, "changes while it is being sent");
    }
    std::vector<bool>& heard = heard_[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < heard.size(); ++i) heard[i] = heard[i] || heard_in_[message][i];
    if (!event.ghost) absorb(rank, region, payloads_[message], event.op, event.step);
  }

  void worked(std::size_t program, const PlanEvent& event) override {
    const int rank = plan_.programs[program].rank;
    const Region target = region_of(event.address, event);
    switch (event.work) {
      case Work::Kind::scratch:
        return write(rank, target, Values(target.count, unset));
      case Work::Kind::copy:
      case Work::Kind::reduce:
        return absorb(rank, target, read(rank, region_of(event.source, event), event.step),
                      event.work == Work::Kind::copy ? Op::replace : event.op, event.step);
      case Work::Kind::scale:
      case Work::Kind::compute:
        return;
    }
  }

  std::vector<FoldTree> conclude() {
    if (promise_.collective == Collective::barrier) check_barrier();
    for (int rank = 0; rank < promise_.ranks; ++rank) check_result(rank);
    return folds();
  }

 private:
  struct Open {
    std::size_t message;
    bool is_send;
    Region region;
  };

  [[noreturn]] void fail(int rank, std::size_t element, int step, const std::string& what) const {
    throw Error(
        ErrorKind::mismatch,
        fmt::format("proof: {} on {} ranks: element {} of rank {} {} (step {})",
                    name_of(promise_.collective), promise_.ranks, element, rank, what, step),
        rank);
  }

  Region region_of(PlanAddress address, const PlanEvent& event) const {
    // A ghost is nowhere.
    const std::size_t count = event.ghost ? 0 : event.count;
    return {address.buffer, address.offset_bytes / promise_.element_bytes, count};
  }

  Values& buffer(int rank, const Region& region) {
    Values& values = memory_[static_cast<std::size_t>(rank)][region.buffer];
    if (values.size() < region.first + region.count) {
      values.resize(region.first + region.count, unset);
    }
    return values;
  }

  void write(int rank, const Region& region, const Values& values) {
    std::copy(values.begin(), values.end(),
              buffer(rank, region).begin() + static_cast<std::ptrdiff_t>(region.first));
  }

  Values read(int rank, const Region& region, int step) {
    const auto begin = buffer(rank, region).begin() + static_cast<std::ptrdiff_t>(region.first);
    Values values(begin, begin + static_cast<std::ptrdiff_t>(region.count));
    const auto missing = std::find(values.begin(), values.end(), unset);
    if (missing != values.end()) {
      fail(rank, region.first + static_cast<std::size_t>(missing - values.begin()), step,
           "is read before it was written");
    }
    return values;
  }

  void absorb(int rank, const Region& region, const Values& message, Op op, int step) {
    if (op == Op::replace) return write(rank, region, message);
    Values own = read(rank, region, step);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Symbol folded = symbols_.fold(own[i], message[i]);
      if (folded == unset) {
        fail(rank, region.first + i, step,
             fmt::format("holds {} and cannot absorb {} of element {}", symbols_.text_of(own[i]),
                         symbols_.text_of(message[i]), symbols_.element_of(message[i])));
      }
      own[i] = folded;
    }
    write(rank, region, own);
  }

  void contribute(int rank, const Region& region) {
    Values values;
    for (std::size_t i = 0; i < region.count; ++i) {
      values.push_back(symbols_.contribution(rank, region.first + i));
    }
    write(rank, region, values);
  }

  // What is in a rank's buffers at the beginning.
  void contribute(int rank) {
    const Region whole{0, 0, promise_.count};
    switch (promise_.collective) {
      case Collective::allreduce:
      case Collective::reduce_scatter:
      case Collective::reduce:
        return contribute(rank, whole);
      case Collective::broadcast:
      case Collective::scatter:
        if (rank == promise_.root) contribute(rank, whole);
        return;
      case Collective::allgather:
      case Collective::gather:
        return contribute(rank, part_of(promise_, rank));
      case Collective::alltoall:
        return contribute(rank, {1, 0, promise_.count});
      case Collective::barrier:
        return;
    }
  }

  // Throws unless the rank's elements of `region` are what `expected` says of each.
  template <typename Expected>
  void check_region(int rank, const Region& region, const Expected& expected) {
    const Values values = read(rank, region, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t element = region.first + i;
      if (expected(values[i], element)) continue;
      fail(rank, element, 0,
           fmt::format("ends as {} of element {}", symbols_.text_of(values[i]),
                       symbols_.element_of(values[i])));
    }
  }

  void check_reduced(int rank, const Region& region) {
    results_.resize(promise_.count, unset);
    check_region(rank, region, [&](Symbol value, std::size_t element) {
      if (symbols_.element_of(value) != element || !symbols_.is_complete(value)) return false;
      Symbol& result = results_[element];
      if (result == unset) result = value;
      return result == value;
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

  const Plan& plan_;
  const std::vector<PlanMessage>& messages_;
  const Promise& promise_;
  Symbols symbols_;
  std::vector<Memory> memory_;               // By rank.
  std::vector<std::vector<Open>> open_;      // By program.
  std::vector<Values> payloads_;             // By message.
  std::vector<std::vector<bool>> heard_;     // By rank: from whom, directly or not.
  std::vector<std::vector<bool>> heard_in_;  // By message: what its sender had heard.
  Values results_;
};

}  // namespace

std::vector<FoldTree> prove(const Plan& plan, const Promise& promise) {
  check(plan.size == promise.ranks, "proof: a plan of {} ranks, a promise of {}", plan.size,
        promise.ranks);
  const std::vector<PlanMessage> messages = match(plan);
  Prover prover(plan, messages, promise);
  walk(plan, messages, prover);
  return prover.conclude();
}

}  // namespace tutti
