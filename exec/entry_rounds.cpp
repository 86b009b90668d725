#include "exec/entry_rounds.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace tutti {
namespace {

constexpr int radix = 4;

}  // namespace

EntryRounds::EntryRounds(int rank, int size, Send send)
    : rank_(rank), size_(size), send_(std::move(send)) {}

void EntryRounds::begin(const Progress& progress) {
  current_ = index_of(progress.group);
  Membership& membership = groups_[current_];
  notice_ = {.group = membership.group,
             .number = ++membership.calls,
             .round = 0,
             .call = record_of(progress)};
  distance_ = 1;
  received_ = 0;
  is_pending_ = true;
  send_round();
}

bool EntryRounds::look() {
  const int size = static_cast<int>(groups_.empty() ? 0 : groups_[current_].ranks.size());
  while (is_pending_) {
    for (int step = received_ + 1; step < radix && step * distance_ < size; ++step) {
      missing_ = rank_at(-step * distance_);
      if (!take_from(missing_)) return false;
      received_ = step;
    }
    distance_ *= radix;
    received_ = 0;
    ++notice_.round;
    is_pending_ = distance_ < size;
    if (is_pending_) send_round();
  }
  missing_ = -1;
  if (!notice_.deviants.empty()) throw mismatch();
  return true;
}

int EntryRounds::rank_at(int distance) const {
  const Membership& membership = groups_[current_];
  const int size = static_cast<int>(membership.ranks.size());
  return membership.ranks[static_cast<std::size_t>((membership.index + distance + size) % size)];
}

void EntryRounds::send_round() {
  const int size = static_cast<int>(groups_[current_].ranks.size());
  for (int step = 1; step < radix && step * distance_ < size; ++step) {
    send_(rank_at(step * distance_), notice_);
  }
}

// Whether the peer's notice of this call and round has come.
bool EntryRounds::take_from(int peer) {
  const auto found = std::find_if(early_.begin(), early_.end(), [&](const Arrived& arrived) {
    return arrived.from == peer && arrived.notice.group == notice_.group &&
           arrived.notice.number == notice_.number && arrived.notice.round == notice_.round;
  });
  if (found == early_.end()) return false;
  const EntryNotice notice = std::move(found->notice);
  early_.erase(found);
  merge(received_ + 1, notice);
  return true;
}

// The notice speaks for those from `steps` distances before this rank on, distance_ of them.
void EntryRounds::merge(int steps, const EntryNotice& notice) {
  const bool is_same = notice.call.signature == notice_.call.signature;
  if (is_same && notice.deviants.empty()) return;
  const int size = static_cast<int>(groups_[current_].ranks.size());
  for (int before = 0; before < distance_; ++before) {
    const int back = steps * distance_ + before;
    if (back >= size) return;
    const int peer = rank_at(-back);
    const auto deviant = notice.deviants.find(peer);
    const CallRecord& call = deviant == notice.deviants.end() ? notice.call : deviant->second;
    if (call.signature != notice_.call.signature) notice_.deviants[peer] = call;
  }
}

std::size_t EntryRounds::index_of(const RankGroup* group) {
  const std::uint64_t hash = group == nullptr ? 0 : group->hash;
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [hash](const Membership& known) { return known.group == hash; });
  if (found != groups_.end()) return static_cast<std::size_t>(found - groups_.begin());
  Membership membership{.group = hash};
  if (group == nullptr) {
    membership.ranks.resize(static_cast<std::size_t>(size_));
    std::iota(membership.ranks.begin(), membership.ranks.end(), 0);
  } else {
    membership.ranks = group->ranks;
  }
  const auto own = std::find(membership.ranks.begin(), membership.ranks.end(), rank_);
  check(own != membership.ranks.end(), "rank {} is not in the group of its call", rank_);
  membership.index = static_cast<int>(own - membership.ranks.begin());
  groups_.push_back(std::move(membership));
  return groups_.size() - 1;
}

Error EntryRounds::timeout(double waited_seconds) const {
  return {ErrorKind::timeout,
          fmt::format("{}: rank {} waited {:.3f} s for rank {} to make the same call, #{}",
                      notice_.call.algorithm.data(), rank_, waited_seconds, missing_,
                      notice_.call.sequence),
          rank_};
}

// The same text on all ranks: who is in what, those in the same call together.
Error EntryRounds::mismatch() const {
  struct Party {
    CallRecord call;
    std::vector<int> ranks;
  };
  std::vector<int> ranks = groups_[current_].ranks;
  std::sort(ranks.begin(), ranks.end());
  std::vector<Party> parties;
  for (const int rank : ranks) {
    const auto deviant = notice_.deviants.find(rank);
    const CallRecord& call = deviant == notice_.deviants.end() ? notice_.call : deviant->second;
    const auto party = std::find_if(parties.begin(), parties.end(), [&](const Party& known) {
      return known.call.signature == call.signature;
    });
    if (party == parties.end()) {
      parties.push_back({call, {rank}});
    } else {
      party->ranks.push_back(rank);
    }
  }
  std::string text =
      fmt::format("{}: call #{}", notice_.call.algorithm.data(), notice_.call.sequence);
  for (const Party& party : parties) {
    const bool is_one = party.ranks.size() == 1;
    text += fmt::format("{} rank{} {} {} in {}", &party == parties.data() ? ":" : ",",
                        is_one ? "" : "s", fmt::join(party.ranks, ", "), is_one ? "is" : "are",
                        party.call.describe());
  }
  return {ErrorKind::mismatch, text + "; all ranks must make the same call", rank_};
}

}  // namespace tutti
