#include "sim/replay_channel.hpp"

#include "collectives/envelope.hpp"
#include "collectives/kernels.hpp"

namespace tutti {

ReplayChannel::ReplayChannel(const ReplayParts& parts, int rank, int size, int lane, int host,
                             const LocalCosts& costs)
    : Channel(rank, size), parts_(parts), self_{rank, lane}, host_(host), costs_(costs) {}

void ReplayChannel::charge(const Work& work) {
  check_alive();
  if (work.kind == Work::Kind::scratch) return;
  if (work.kind != Work::Kind::compute) return charge_bytes(work.target.bytes());
  check(work.seconds >= 0.0, "rank {} charges {} s of work", rank(), work.seconds);
  parts_.tasks.sleep(work.seconds);
}

Request ReplayChannel::post_send(int to, Block block) {
  check_alive();
  parts_.tasks.sleep(costs_.send_overhead_seconds);
  ++open_requests_;
  if (progress().signature != known_signature_) {
    known_signature_ = progress().signature;
    parts_.mail.know(progress().call);
  }
  return parts_.mail.send(self_, to, block, progress());
}

Request ReplayChannel::post_recv(int from, Block block, Op op) {
  check_alive();
  ++open_requests_;
  return parts_.mail.receive(self_, from, block, op, progress());
}

void ReplayChannel::complete(Request request) {
  check_alive();
  const ReplayMail::End end = parts_.mail.find(self_, request);
  check(end.message != none, "rank {} waits for request {}, which is not open", rank(), request.id);
  try {
    waiting_ = end;
    await(end);
    waiting_ = {};
    if (!end.is_send) deliver(end);
  } catch (const Error& error) {
    waiting_ = {};
    failure_ = std::make_unique<const Error>(error);
    parts_.mail.abandon(rank(), self_.lane, false);
    throw;
  }
  parts_.mail.close(end);
  --open_requests_;
}

void ReplayChannel::check_alive() const {
  if (failure_) throw dead_channel(progress(), rank(), failure_->kind(), failure_->what());
}

void ReplayChannel::charge_bytes(std::size_t bytes) const {
  if (costs_.reductions_are_free || bytes == 0) return;
  parts_.cores.begin(now(), host_, static_cast<double>(bytes), parts_.tasks.current());
  parts_.tasks.block(no_deadline);
}

void ReplayChannel::await(ReplayMail::End end) const {
  const double began_seconds = now();
  switch (parts_.mail.wait(end, deadline_seconds_)) {
    case ReplayMail::Ending::arrived:
      return;
    case ReplayMail::Ending::timed_out:
      break;
    case ReplayMail::Ending::given_up:
      throw Error(ErrorKind::peer_lost, describe_wait(end) + ", which has given up", rank());
    case ReplayMail::Ending::peer_ended:
      throw Error(ErrorKind::peer_lost, describe_wait(end) + ", which ended meanwhile", rank());
  }
  const ReplayMessage& message = parts_.mail.message(end);
  const Block& block = end.is_send ? message.out.block : message.in.block;
  const auto error = end.is_send ? send_timeout : receive_timeout;
  throw error(progress(), rank(), parts_.mail.peer_of(end), now() - began_seconds, block.bytes(),
              0);
}

void ReplayChannel::deliver(ReplayMail::End end) const {
  parts_.tasks.sleep(costs_.receive_overhead_seconds);
  const ReplayMessage& message = parts_.mail.message(end);
  const Block& sent = message.out.block;
  const Block& block = message.in.block;
  const std::uint64_t signature = progress().depth > 0 ? progress().signature : 0;
  const bool fits = sent.count == block.count && sent.dtype == block.dtype &&
                    sent.is_ghost() == block.is_ghost() && message.signature == signature;
  if (!fits) {
    const Envelope envelope{message.signature, sent.count, sent.dtype, sent.is_ghost()};
    check_envelope(
        progress(), rank(), parts_.mail.peer_of(end), block, envelope,
        message.signature == signature ? std::string() : parts_.mail.describe_call(message));
  }
  if (!block.is_ghost()) {
    reduce_elements(message.op, block.dtype, block.data,
                    message.is_copied ? message.copy.data() : sent.data, block.count);
  }
  if (message.op != Op::replace) charge_bytes(block.bytes());
}

void ReplayChannel::check_closed() const {
  check(open_requests_ == 0 || failure_ != nullptr,
        "rank {} ended with {} open requests on lane {}, each must be waited for", rank(),
        open_requests_, self_.lane);
}

std::optional<RankState::Wait> ReplayChannel::waits_for() const {
  if (waiting_.message == none) return std::nullopt;
  return RankState::Wait{parts_.mail.peer_of(waiting_), describe_wait(waiting_)};
}

std::string ReplayChannel::describe_wait(ReplayMail::End end) const {
  const ReplayMessage& message = parts_.mail.message(end);
  const Block& block = end.is_send ? message.out.block : message.in.block;
  return tutti::describe_wait(progress(), rank(), end.is_send, block.bytes(),
                              parts_.mail.peer_of(end));
}

}  // namespace tutti
