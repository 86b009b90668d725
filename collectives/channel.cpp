#include "collectives/channel.hpp"

#include <utility>

namespace tutti {
namespace {

// FNV-1a: short, stable across processes and compilers.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add_byte(0);
  }
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<std::uint8_t>(value >> shift));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 1099511628211ULL; }

  std::uint64_t value_ = 14695981039346656037ULL;
};

}  // namespace

RankGroup RankGroup::of(std::vector<int> ranks) {
  Hash hash;
  for (const int rank : ranks) hash.add(static_cast<std::uint64_t>(rank));
  return {std::move(ranks), hash.value() | 1};
}

std::uint64_t Call::signature() const {
  if (algorithm.empty()) return 0;
  Hash hash;
  hash.add(algorithm);
  hash.add(static_cast<std::uint64_t>(count));
  hash.add(static_cast<std::uint64_t>(dtype));
  hash.add(static_cast<std::uint64_t>(op));
  hash.add(static_cast<std::uint64_t>(root));
  return hash.value() | 1;
}

std::string Call::describe() const {
  if (algorithm.empty()) return "no collective";
  std::string text = fmt::format("{} of {} {}", algorithm, count, name_of(dtype));
  if (op != Op::replace) text += fmt::format(", {}", name_of(op));
  if (root >= 0) text += fmt::format(", root {}", root);
  return text;
}

std::string Progress::where() const {
  if (depth == 0) return "a point outside any collective";
  return fmt::format("step {} of {}", step, steps);
}

std::string Progress::describe_call() const {
  std::string text = call.describe();
  if (group != nullptr) text += fmt::format(" in a group of {}", group->ranks.size());
  return text;
}

Operation::Operation(Channel& channel, const Call& call, int steps)
    : progress_(*channel.progress_) {
  if (progress_.depth++ > 0) return;
  progress_.call = call;
  progress_.group = channel.group_;
  // An even number added to an odd one: never 0.
  progress_.signature =
      call.signature() + (channel.group_ == nullptr ? 0 : channel.group_->hash << 1);
  ++progress_.sequence;
  progress_.step = 0;
  progress_.steps = steps;
  try {
    channel.substrate_->on_call();
  } catch (...) {
    --progress_.depth;
    throw;
  }
}

}  // namespace tutti
