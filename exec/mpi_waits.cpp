// The waits of MpiChannel, and how they end.
#include <algorithm>
#include <utility>

#include "exec/mpi_channel.hpp"
#include "exec/mpi_wait.hpp"

namespace tutti {
namespace {

// A wait that is longer tells the peer about itself.
constexpr double telling_seconds = 0.05;
// How long after a peer has left what it sent before may still be on its way.
constexpr double arrival_seconds = 0.1;
// How long a failed channel waits for what MPI still does with blocks.
constexpr double quiet_seconds = 2.0;

}  // namespace

void MpiChannel::complete(Request request) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  const Awaited awaited = decode(request);
  --open_requests_;
  try {
    advance();
    if (rounds_.is_pending() && progress().depth > 0) wait_for_entries();
    if (!is_done(awaited)) wait_for(awaited);
  } catch (const Error& error) {
    death_ = error;
    quiesce();
    throw;
  }
}

void MpiChannel::wait_for(const Awaited& awaited) {
  MpiWait wait(polls_);
  Look last;
  for (;;) {
    const bool is_time = wait.pause();
    advance();
    if (is_done(awaited)) return;
    if (is_time) look(awaited, wait.waited_seconds(), last);
  }
}

// Throws where the wait is in vain.
void MpiChannel::look(const Awaited& awaited, double waited_seconds, Look& last) {
  transport_.look();
  if (const std::optional<KnownFailure> failure = transport_.failure_of(place_.run)) {
    // Where all ranks' calls are what is wrong, it is an error of all.
    const bool is_mismatch = failure->kind == ErrorKind::mismatch;
    throw Error(is_mismatch ? ErrorKind::mismatch : ErrorKind::peer_lost,
                situation(awaited) + " when " + failure->text, rank());
  }
  if (!last.is_told && waited_seconds > telling_seconds) {
    const Link& link = link_of(awaited.peer);
    transport_.send_notice(awaited.peer,
                           {place_.run, place_.lane, awaited.is_send, link.sends_posted,
                            link.headers_taken, record_of(progress())});
    last.is_told = true;
  }
  check_same_call(awaited);
  if (!last.left_seconds && transport_.has_left(awaited.peer)) last.left_seconds = waited_seconds;
  if (last.left_seconds && waited_seconds > *last.left_seconds + arrival_seconds) {
    throw Error(
        ErrorKind::peer_lost,
        fmt::format("{} but rank {} has ended its program", situation(awaited), awaited.peer),
        rank());
  }
  const double left_seconds =
      std::min(timeout_seconds_ - waited_seconds, deadline_seconds_ - now());
  if (left_seconds <= 0.0) throw timed_out(awaited, waited_seconds);
}

// Two ranks that wait for each other in different calls will do so for ever. The peer's notice may
// be old: it is still true where neither has sent anything since that the other waits for.
void MpiChannel::check_same_call(const Awaited& awaited) const {
  const std::optional<WaitNotice> notice =
      transport_.notice_of(place_.run, place_.lane, awaited.peer);
  if (!notice || notice->call.sequence != progress().sequence ||
      notice->call.signature == progress().signature) {
    return;
  }
  const Link& link = link_of(awaited.peer);
  const bool has_nothing = notice->sent == link.headers_taken;
  const bool gives_nothing =
      notice->is_send ? link.receives.empty() : notice->taken == link.sends_posted;
  const bool waits_in_vain = (awaited.is_send || has_nothing) && gives_nothing;
  if (waits_in_vain) {
    throw call_mismatch(progress(), rank(), awaited.peer, notice->call.describe());
  }
}

// Before blocks may go: takes back what is not under way, and waits for the rest.
void MpiChannel::quiesce() noexcept {
  try {
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      if (flights_[i].kind >= Flight::Kind::header_in) calls_.cancel(requests_[i]);
    }
    const auto uses_memory = [](const Flight& flight) {
      return flight.kind != Flight::Kind::header_out && flight.kind != Flight::Kind::grant_out;
    };
    MpiWait wait(0);
    for (;;) {
      take_landed();
      landed_.clear();
      const bool is_busy = std::any_of(flights_.begin(), flights_.end(), uses_memory);
      if (!is_busy || wait.waited_seconds() > quiet_seconds) break;
      // A peer in the same position waits for its segments to be taken.
      while (calls_.take(place_.tags.segment)) continue;
      wait.pause();
    }
    if (std::any_of(flights_.begin(), flights_.end(), uses_memory)) transport_.give_up();
    for (std::size_t i = 0; i < flights_.size(); ++i) {
      transport_.keep(requests_[i], std::move(flights_[i].buffer));
    }
  } catch (const std::exception&) {
    // MPI itself has failed; what it may still touch must not be freed.
    for (Flight& flight : flights_) static_cast<void>(flight.buffer.release());
  }
  flights_.clear();
  requests_.clear();
}

// "allreduce_ring: rank 3 was waiting for 65536 bytes from rank 2 at step 4 of 7 of call #1
// (received 0)"
std::string MpiChannel::situation(const Awaited& awaited) const {
  const Amount amount = amount_of(awaited);
  std::string wish;
  if (awaited.is_entry) {
    wish = fmt::format("for rank {} to make the same call", awaited.peer);
  } else {
    wish = fmt::format("{} {} bytes {} rank {}", awaited.is_send ? "to send" : "for",
                       amount.total_bytes, awaited.is_send ? "to" : "from", awaited.peer);
  }
  return fmt::format("{}: rank {} was waiting {} at {}{} ({} {})",
                     progress().depth > 0 ? progress().call.algorithm : "channel", rank(), wish,
                     progress().where(),
                     progress().depth > 0 ? fmt::format(" of call #{}", progress().sequence) : "",
                     awaited.is_send ? "taken" : "received", amount.bytes);
}

Error MpiChannel::timed_out(const Awaited& awaited, double waited_seconds) const {
  const Amount amount = amount_of(awaited);
  if (awaited.is_entry) return rounds_.timeout(waited_seconds);
  const Error error = awaited.is_send
                          ? send_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                         amount.total_bytes, amount.bytes)
                          : receive_timeout(progress(), rank(), awaited.peer, waited_seconds,
                                            amount.total_bytes, amount.bytes);
  const std::optional<WaitNotice> notice =
      transport_.notice_of(place_.run, place_.lane, awaited.peer);
  if (!notice) return error;
  return {error.kind(),
          fmt::format("{}; rank {} has waited for rank {} in {}", error.what(), awaited.peer,
                      rank(), notice->call.describe()),
          rank()};
}

}  // namespace tutti
