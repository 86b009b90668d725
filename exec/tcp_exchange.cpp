// What all ranks of a TcpTransport do together, between runs and at the end.
#include <algorithm>

#include "exec/clock.hpp"
#include "exec/tcp_transport.hpp"

namespace tutti {
namespace {

constexpr double piece_seconds = 0.05;

}  // namespace

std::string TcpTransport::Control::gone(int peer) const {
  if (!end) return loss;
  return end->empty() ? fmt::format("rank {} has ended its command", peer)
                      : fmt::format("rank {} has ended its command: {}", peer, *end);
}

// Until all has been sent, and of each peer has come what it says or the peer is gone. Returns who
// is missing when time is up, or "".
std::string TcpTransport::await(double timeout_seconds,
                                const std::function<bool(const Control&)>& has_come) {
  const double end_seconds = monotonic_seconds() + timeout_seconds;
  for (;;) {
    progress();
    std::string missing;
    for (int peer = 0; peer < size(); ++peer) {
      const Control& control = control_of(peer);
      if (peer == rank() || (control.outbox.empty() && has_come(control))) continue;
      missing += fmt::format("{}rank {}", missing.empty() ? "" : " and ", peer);
    }
    const double left_seconds = end_seconds - monotonic_seconds();
    if (missing.empty() || left_seconds <= 0.0) return missing;
    wait_for_events(std::min(piece_seconds, left_seconds));
  }
}

std::vector<std::string> TcpTransport::exchange(const std::string& own, double timeout_seconds) {
  for (int peer = 0; peer < size(); ++peer) {
    const std::lock_guard lock(mutex_);
    post(peer, Frame::Kind::exchange, own);
  }
  const auto is_gone = [](const Control& control) {
    return control.exchanges.empty() && (control.end || !control.loss.empty());
  };
  const std::string missing = await(timeout_seconds, [&](const Control& control) {
    return !control.exchanges.empty() || std::any_of(controls_.begin(), controls_.end(), is_gone);
  });
  std::vector<int> others = lost_;  // The first to go is the one to name.
  for (int peer = 0; peer < size(); ++peer) others.push_back(peer);
  for (const int peer : others) {
    const Control& control = control_of(peer);
    if (is_gone(control)) throw Error(ErrorKind::peer_lost, control.gone(peer), peer);
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::timeout,
                fmt::format("rank {} waited {:.3f} s for {} to end the run too", rank(),
                            timeout_seconds, missing),
                rank());
  }
  std::vector<std::string> all(static_cast<std::size_t>(size()));
  for (int peer = 0; peer < size(); ++peer) {
    Control& control = control_of(peer);
    std::string& text = all[static_cast<std::size_t>(peer)];
    if (peer == rank()) {
      text = own;
    } else {
      text = std::move(control.exchanges.front());
      control.exchanges.pop_front();
    }
  }
  return all;
}

std::vector<std::string> TcpTransport::finish(const std::string& failure, int /*exit_code*/) {
  for (int peer = 0; peer < size(); ++peer) {
    const std::lock_guard lock(mutex_);
    post(peer, Frame::Kind::finish, failure.substr(0, Frame::most_body_bytes));
  }
  await(setup_.timeout_seconds,
        [](const Control& control) { return control.end || !control.loss.empty(); });
  std::vector<std::string> all;
  for (int peer = 0; peer < size(); ++peer) {
    const Control& control = control_of(peer);
    const std::string silence =
        control.loss.empty() ? fmt::format("rank {} does not end", peer) : control.loss;
    all.push_back(peer == rank() ? failure : control.end.value_or(silence));
  }
  return all;
}

}  // namespace tutti
