#include "collectives/channel.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

// By words, since every call is hashed: bytes would take longer than a small message. Multiplies
// by 2^64 over the golden ratio. The same on all machines and compilers.
class Hash {
 public:
  void add(std::string_view text) {
    add(text.size());
    for (; text.size() > sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
      add(word_of(text.substr(0, sizeof(std::uint64_t))));
    }
    add(word_of(text));
  }
  void add(std::uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15ULL;
    value_ ^= value_ >> 32;
  }
  std::uint64_t value() const { return value_; }

 private:
  static std::uint64_t word_of(std::string_view text) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), text.size());
    return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
  }

  std::uint64_t value_ = 0x9e3779b97f4a7c15ULL;
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
  hash.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 16 |
           static_cast<std::uint64_t>(dtype) << 8 | static_cast<std::uint64_t>(op));
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
