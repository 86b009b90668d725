#include "exec/agreement.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "collectives/envelope.hpp"

namespace tutti {
namespace {

constexpr int sequence_shift = 48;

// Which call of the group it is, and which call.
std::uint64_t token_of(std::uint64_t sequence, std::uint64_t signature) {
  return sequence << sequence_shift | signature >> (64 - sequence_shift);
}

// 0: in call `sequence`; less: not yet; more: has left it behind. They differ by few calls only.
std::int16_t age_of_token(std::uint64_t token, std::uint64_t sequence) {
  return static_cast<std::int16_t>((token >> sequence_shift) - sequence);
}

std::vector<int> everyone(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Agreement::Agreement(int rank, int lane, const Board& board)
    : rank_(rank), lane_(lane), board_(board) {
  index_of(nullptr);
}

void Agreement::begin(const Progress& progress) {
  current_ = index_of(progress.group);
  Membership& membership = groups_[current_];
  ++membership.sequence;
  target_ = membership.sequence - std::min(membership.sequence, GroupCalls::kept - 1);
  seen_ = target_ <= membership.agreed ? membership.others.size() : 0;
}

void Agreement::publish(const Progress& progress) {
  Membership& membership = groups_[current_];
  target_ = membership.sequence;
  seen_ = 0;
  if (membership.own == nullptr) return;
  membership.own->tokens[target_ % GroupCalls::kept].store(token_of(target_, progress.signature));
}

bool Agreement::look(const Progress& progress) {
  Membership& membership = groups_[current_];
  if (membership.own == nullptr || target_ <= membership.agreed) return true;
  std::vector<Other>& others = membership.others;
  const std::size_t place = target_ % GroupCalls::kept;
  const std::uint64_t own = membership.own->tokens[place].load(std::memory_order_relaxed);
  for (; seen_ < others.size(); ++seen_) {
    Other& other = others[seen_];
    if (other.calls != nullptr && other.calls->tokens[place].load() == own) continue;
    const std::int16_t age = age_of(other);
    if (age < 0) return false;
    if (age == 0 && other.calls->tokens[place].load() != own) throw mismatch(progress);
  }
  membership.agreed = last_agreed(membership);
  return true;
}

void Agreement::confirm_pair() {
  groups_[current_].agreed = target_;
  seen_ = 1;
}

// All have come to target_. How far they have come together costs no further cache line, and spares
// a rank that runs ahead of the others a look at each call.
std::uint64_t Agreement::last_agreed(const Membership& membership) const {
  std::uint64_t agreed = std::max(membership.agreed, target_);
  while (agreed < membership.sequence) {
    const std::size_t place = (agreed + 1) % GroupCalls::kept;
    const std::uint64_t own = membership.own->tokens[place].load(std::memory_order_relaxed);
    if (age_of_token(own, agreed + 1) != 0) break;
    const bool all_are_in =
        std::all_of(membership.others.begin(), membership.others.end(), [&](const Other& other) {
          return other.calls == nullptr || other.calls->tokens[place].load() == own;
        });
    if (!all_are_in) break;
    ++agreed;
  }
  return agreed;
}

int Agreement::missing() const {
  const std::vector<Other>& others = groups_[current_].others;
  return seen_ < others.size() ? others[seen_].rank : -1;
}

bool Agreement::has_come() {
  std::vector<Other>& others = groups_[current_].others;
  return seen_ == others.size() || age_of(others[seen_]) >= 0;
}

// 1 where the rank has no room to publish the calls of this group.
std::int16_t Agreement::age_of(Other& other) {
  const LaneRecord& record = board_.lane(other.rank, lane_);
  if (other.calls == nullptr) {
    const LaneRecord::Place place = record.find(groups_[current_].group);
    if (place.calls == nullptr) return place.is_full ? 1 : -1;
    other.calls = place.calls;
  }
  return age_of_token(other.calls->tokens[target_ % GroupCalls::kept].load(), target_);
}

std::size_t Agreement::index_of(const RankGroup* group) {
  const std::uint64_t hash = group == nullptr ? 0 : group->hash;
  if (hash == 0 && !groups_.empty()) return 0;
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Membership& known) { return known.group == hash; });
  if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
  Membership membership{.group = hash, .own = board_.lane(rank_, lane_).claim(hash)};
  for (const int rank : group == nullptr ? everyone(board_.size()) : group->ranks) {
    if (rank != rank_) membership.others.push_back({.rank = rank});
  }
  groups_.push_back(std::move(membership));
  return groups_.size() - 1;
}

// Who is in what, as far as it shows: those in the same call together.
Error Agreement::mismatch(const Progress& progress) {
  struct Party {
    std::string call;
    std::vector<int> ranks;
  };
  std::vector<Party> parties{{progress.describe_call(), {rank_}}};
  for (Other& other : groups_[current_].others) {
    if (age_of(other) != 0) continue;
    const CallRecord record = board_.lane(other.rank, lane_).call.load();
    const std::uint64_t token = other.calls->tokens[target_ % GroupCalls::kept].load();
    const bool is_this = token == token_of(target_, record.signature);
    const std::string call = is_this ? record.describe() : "another call";
    const auto party = std::find_if(parties.begin(), parties.end(),
                                    [&](const Party& known) { return known.call == call; });
    if (party == parties.end()) {
      parties.push_back({call, {other.rank}});
    } else {
      party->ranks.push_back(other.rank);
    }
  }
  std::string text = fmt::format("{}: call #{}: ", progress.call.algorithm, progress.sequence);
  for (Party& party : parties) {
    std::sort(party.ranks.begin(), party.ranks.end());
    const bool is_one = party.ranks.size() == 1;
    text +=
        fmt::format("{}rank{} {} {} in {}", &party == parties.data() ? "" : ", ", is_one ? "" : "s",
                    fmt::join(party.ranks, ", "), is_one ? "is" : "are", party.call);
  }
  return {ErrorKind::mismatch, text + "; all ranks must make the same call", rank_};
}

}  // namespace tutti
