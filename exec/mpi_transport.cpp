#include "exec/mpi_transport.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "exec/mpi_channel.hpp"
#include "exec/mpi_wait.hpp"

namespace tutti {
namespace {

constexpr int control_tag = 0;
constexpr std::uint64_t most_lanes = 512;
// Runs whose messages can be told apart. Two would do: nobody starts a run before all have ended
// the one before the last.
constexpr std::uint64_t distinct_runs = 16;
static_assert(1 + 3 * most_lanes * distinct_runs < 32768, "MPI grants tags up to 32767");

// How long a process waits at its end for the others, which may be at work and not look.
constexpr double parting_seconds = 10.0;

// That of an operating error.
constexpr int exit_code_failed = 3;

MpiTags tags_of(std::uint64_t run, int lane) {
  const auto first = static_cast<int>(
      1 + 3 * (run % distinct_runs * most_lanes + static_cast<std::uint64_t>(lane)));
  return {first, first + 1, first + 2};
}

}  // namespace

MpiTransport::MpiTransport(std::unique_ptr<MpiCalls> calls)
    : JoinedTransport(calls->rank(), calls->size()),
      calls_(std::move(calls)),
      peers_(static_cast<std::size_t>(size())) {}

MpiTransport::~MpiTransport() {
  // Where neither, the launcher ends the others when this process ends.
  if (has_finished_) calls_->finalize();
  if (abort_code_ != 0) calls_->abort(abort_code_);
}

std::unique_ptr<RealChannel> MpiTransport::open_channel(std::uint64_t run, int size, int lane,
                                                        double timeout_seconds) {
  check(lane >= 0 && lane < static_cast<int>(most_lanes),
        "the mpi transport has lanes 0 to {}, not {}", most_lanes - 1, lane);
  const MpiTags tags = tags_of(run, lane);
  used_tags_.push_back(tags);
  return std::make_unique<MpiChannel>(*this, size, MpiChannel::Place{run, lane, tags},
                                      timeout_seconds);
}

std::vector<std::string> MpiTransport::exchange(const std::string& own, double timeout_seconds) {
  send_control_to_all({Control::exchange}, own);
  MpiWait wait(0);
  for (;;) {
    look();
    discard_strays();
    const std::string absent = missing(false);
    if (absent.empty()) break;
    throw_if_ended(wait.waited_seconds());
    if (wait.waited_seconds() > timeout_seconds) {
      throw Error(ErrorKind::timeout,
                  fmt::format("rank {} waited {:.3f} s for the others at the end of a run, but {} "
                              "did not come",
                              rank(), wait.waited_seconds(), absent),
                  rank());
    }
    wait.pause();
  }
  // All have ended their runs, so what they sent in them is here.
  discard_strays();
  used_tags_.clear();
  reap();
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (int from = 0; from < size(); ++from) {
    std::deque<std::string>& arrived = peers_[static_cast<std::size_t>(from)].exchanges;
    all.push_back(from == rank() ? own : std::move(arrived.front()));
    if (from != rank()) arrived.pop_front();
  }
  return all;
}

bool MpiTransport::announce_failure(std::uint64_t run, const Error& error) noexcept {
  try {
    {
      const std::lock_guard lock(mutex_);
      if (!failures_.emplace(run, KnownFailure{error.kind(), error.what()}).second) return false;
      last_failed_run_ = run;
    }
    send_control_to_all({Control::failure, run},
                        encode(FailureNotice{run, error.kind(), error.what()}));
    return true;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tutti: rank %d could not tell that it has failed: %s\n", rank(),
                 failure.what());
    calls_->abort(exit_code_failed);
  }
}

std::vector<std::string> MpiTransport::finish(const std::string& failure, int exit_code) {
  if (has_given_up_) {
    abort_code_ = std::max(exit_code, exit_code_failed);
    throw Error(ErrorKind::peer_lost,
                fmt::format("rank {}: a rank stopped amid a message; all are ended now", rank()),
                rank());
  }
  send_control_to_all({Control::end}, failure);
  MpiWait wait(0);
  while (!missing(true).empty()) {
    look();
    discard_strays();
    if (wait.waited_seconds() > parting_seconds) {
      abort_code_ = std::max(exit_code, exit_code_failed);
      throw Error(ErrorKind::timeout,
                  fmt::format("rank {} waited {:.3f} s for the others to end, but {} did not; all "
                              "are ended now",
                              rank(), wait.waited_seconds(), missing(true)),
                  rank());
    }
    wait.pause();
  }
  std::vector<std::string> failures;
  for (const Peer& peer : peers_) failures.push_back(peer.end.value_or(failure));
  reap();
  has_finished_ = true;
  return failures;
}

// Its memory is kept until it has gone, whatever becomes of this run.
void MpiTransport::send_control(int to, ControlHead head, const std::string& text) {
  const std::size_t bytes = sizeof head + text.size();
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::usage, fmt::format("rank {}: cannot pass {} bytes at once by mpi, whose "
                                              "messages are shorter than 2 GiB",
                                              rank(), text.size()));
  }
  MpiBuffer buffer(new std::byte[bytes]);
  std::memcpy(buffer.get(), &head, sizeof head);
  std::memcpy(buffer.get() + sizeof head, text.data(), text.size());
  const MPI_Request request = calls_->isend(buffer.get(), bytes, to, control_tag);
  kept_requests_.push_back(request);
  kept_buffers_.push_back(std::move(buffer));
}

void MpiTransport::send_control_to_all(ControlHead head, const std::string& text) {
  const std::lock_guard lock(mutex_);
  for (int to = 0; to < size(); ++to) {
    if (to != rank()) send_control(to, head, text);
  }
}

void MpiTransport::look() {
  const std::lock_guard lock(mutex_);
  while (std::optional<MpiMessage> message = calls_->take(control_tag)) {
    ControlHead head;
    check(message->text.size() >= sizeof head, "rank {} sent a control message of {} bytes",
          message->from, message->text.size());
    std::memcpy(&head, message->text.data(), sizeof head);
    store(message->from, head, message->text.substr(sizeof head));
  }
}

void MpiTransport::store(int from, ControlHead head, std::string text) {
  Peer& peer = peers_[static_cast<std::size_t>(from)];
  switch (head.control) {
    case Control::exchange:
      peer.exchanges.push_back(std::move(text));
      break;
    case Control::end:
      peer.end = std::move(text);
      break;
    case Control::failure: {
      FailureNotice notice = decode_failure(text);
      failures_.emplace(head.run, KnownFailure{notice.kind, std::move(notice.text)});
      last_failed_run_ = std::max(last_failed_run_.load(), head.run);
      break;
    }
    case Control::entry: {
      LaneEntry entry = decode_lane_entry(text);
      entries_[{entry.run, entry.lane}].push_back({from, std::move(entry.notice)});
      break;
    }
    case Control::notice: {
      WaitNotice notice;
      check(text.size() == sizeof notice, "rank {} sent a notice of {} bytes", from, text.size());
      std::memcpy(&notice, text.data(), sizeof notice);
      peer.notices[notice.lane] = notice;
      break;
    }
  }
}

std::optional<KnownFailure> MpiTransport::failure_of(std::uint64_t run) {
  if (last_failed_run_.load(std::memory_order_relaxed) < run) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(run);
  return found == failures_.end() ? std::nullopt : std::optional(found->second);
}

void MpiTransport::send_entry(const LaneEntry& entry, int to) {
  const std::string text = encode(entry);
  const std::lock_guard lock(mutex_);
  send_control(to, {Control::entry, entry.run}, text);
}

std::vector<MpiTransport::Entry> MpiTransport::take_entries(std::uint64_t run, int lane) {
  look();
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({run, lane});
  if (found == entries_.end()) return {};
  return std::exchange(found->second, {});
}

bool MpiTransport::has_left(int rank) {
  const std::lock_guard lock(mutex_);
  const Peer& peer = peers_[static_cast<std::size_t>(rank)];
  return !peer.exchanges.empty() || peer.end.has_value();
}

std::optional<WaitNotice> MpiTransport::notice_of(std::uint64_t run, int lane, int peer) {
  const std::lock_guard lock(mutex_);
  const std::map<int, WaitNotice>& notices = peers_[static_cast<std::size_t>(peer)].notices;
  const auto found = notices.find(lane);
  if (found == notices.end() || found->second.run != run) return std::nullopt;
  return found->second;
}

void MpiTransport::send_notice(int to, const WaitNotice& notice) {
  const std::string text(reinterpret_cast<const char*>(&notice), sizeof notice);
  const std::lock_guard lock(mutex_);
  send_control(to, {Control::notice, notice.run}, text);
}

void MpiTransport::keep(MPI_Request request, MpiBuffer buffer) {
  const std::lock_guard lock(mutex_);
  kept_requests_.push_back(request);
  kept_buffers_.push_back(std::move(buffer));
}

// "rank 2, rank 5": those whose exchange, or end, has not arrived.
std::string MpiTransport::missing(bool wants_end) {
  const std::lock_guard lock(mutex_);
  std::string names;
  for (int other = 0; other < size(); ++other) {
    const Peer& peer = peers_[static_cast<std::size_t>(other)];
    const bool is_here = wants_end ? peer.end.has_value() : !peer.exchanges.empty();
    if (other == rank() || is_here) continue;
    names += fmt::format("{}rank {}", names.empty() ? "" : ", ", other);
  }
  return names;
}

void MpiTransport::throw_if_ended(double waited_seconds) {
  const std::lock_guard lock(mutex_);
  for (int other = 0; other < size(); ++other) {
    const Peer& peer = peers_[static_cast<std::size_t>(other)];
    if (!peer.end || !peer.exchanges.empty()) continue;
    throw Error(
        ErrorKind::peer_lost,
        fmt::format("rank {} waited {:.3f} s for the others at the end of a run, but rank "
                    "{} has left{}{}",
                    rank(), waited_seconds, other, peer.end->empty() ? "" : ": ", *peer.end),
        other);
  }
}

void MpiTransport::reap() {
  const std::lock_guard lock(mutex_);
  std::vector<int> done;
  if (!kept_requests_.empty()) calls_->test_some(kept_requests_, done);
  std::sort(done.begin(), done.end());
  for (auto index = done.rbegin(); index != done.rend(); ++index) {
    const auto i = static_cast<std::size_t>(*index);
    std::swap(kept_requests_[i], kept_requests_.back());
    std::swap(kept_buffers_[i], kept_buffers_.back());
    kept_requests_.pop_back();
    kept_buffers_.pop_back();
  }
}

// What nobody receives any more: a sender may wait for it to be taken.
void MpiTransport::discard_strays() {
  for (const MpiTags& tags : used_tags_) {
    for (const int tag : {tags.header, tags.grant, tags.segment}) {
      while (calls_->take(tag)) continue;
    }
  }
}

}  // namespace tutti
