#include "sim/sim_channel.hpp"

#include <simgrid/Exception.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "collectives/kernels.hpp"

namespace tutti {

namespace {

void pass(double seconds) {
  if (seconds > 0.0) simgrid::s4u::this_actor::sleep_for(seconds);
}

}  // namespace

SimStream::SimStream(int lane, int from, int to, simgrid::s4u::ActorPtr receiver) {
  const std::string name = fmt::format("{}:{}:{}", lane, from, to);
  rendezvous_ = simgrid::s4u::Mailbox::by_name(name);
  if (receiver == nullptr) return;
  eager_ = simgrid::s4u::Mailbox::by_name(name + ":eager");
  eager_->set_receiver(std::move(receiver));
}

simgrid::s4u::Mailbox* SimStream::next_for_send(bool eager) {
  if (receives_ > 0) {
    --receives_;
    return rendezvous_;
  }
  sends_.push_back(eager);
  return eager ? eager_ : rendezvous_;
}

simgrid::s4u::Mailbox* SimStream::next_for_receive() {
  if (sends_.empty()) {
    ++receives_;
    return rendezvous_;
  }
  const bool eager = sends_.front();
  sends_.pop_front();
  return eager ? eager_ : rendezvous_;
}

SimStream& SimStreams::at(int lane, int from, int to) {
  const std::array<int, 3> key = {lane, from, to};
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  const auto receiver = eager_bytes_ > 0 ? ranks_[static_cast<std::size_t>(to)] : nullptr;
  return streams_.try_emplace(key, lane, from, to, receiver).first->second;
}

void SimStreams::check_all_received() const {
  for (const auto& [key, stream] : streams_) {
    if (stream.unreceived() == 0) continue;
    const auto [lane, from, to] = key;
    throw Error(
        ErrorKind::mismatch,
        fmt::format("rank {} ended without receiving {} messages that rank {} sent on lane {}", to,
                    stream.unreceived(), from, lane),
        to);
  }
}

SimChannel::SimChannel(SimStreams& streams, int rank, int size, int lane, const LocalCosts& costs)
    : Channel(rank, size), streams_(streams), lane_(lane), costs_(costs) {}

void SimChannel::charge(const Work& work) {
  check_alive();
  if (work.kind == Work::Kind::scratch) return;
  if (work.kind != Work::Kind::compute) return charge_bytes(work.target.bytes());
  check(work.seconds >= 0.0, "rank {} charges {} s of work", rank(), work.seconds);
  pass(work.seconds);
}

Request SimChannel::post_send(int to, Block block) {
  check_alive();
  pass(costs_.send_overhead_seconds);
  auto message = std::make_unique<SimMessage>();
  message->envelope = envelope_of(progress(), block);
  if (progress().depth > 0) message->call = progress().call;
  if (!block.is_ghost()) message->bytes.assign(block.data, block.data + block.bytes());

  const Request request{next_id_++};
  Open& open = open_[request.id];
  open.is_send = true;
  open.peer = to;
  open.block = block;
  const bool eager = block.bytes() <= streams_.eager_bytes();
  simgrid::s4u::Mailbox* const mailbox = streams_.at(lane_, rank(), to).next_for_send(eager);
  open.communication = mailbox->put_async(message.release(), block.bytes());
  return request;
}

Request SimChannel::post_recv(int from, Block block, Op op) {
  check_alive();
  const Request request{next_id_++};
  Open& open = open_[request.id];
  open.peer = from;
  open.block = block;
  open.op = op;
  simgrid::s4u::Mailbox* const mailbox = streams_.at(lane_, from, rank()).next_for_receive();
  open.communication = mailbox->get_async<SimMessage>(&open.received);
  return request;
}

void SimChannel::complete(Request request) {
  check_alive();
  const auto found = open_.find(request.id);
  check(found != open_.end(), "rank {} waits for request {}, which is not open", rank(),
        request.id);
  try {
    waiting_ = &found->second;
    wait_until_done(found->second);
    waiting_ = nullptr;
    if (!found->second.is_send) deliver(found->second);
    open_.erase(found);
  } catch (const Error& error) {
    waiting_ = nullptr;
    failure_ = error;
    throw;
  }
}

void SimChannel::check_alive() const {
  if (failure_) throw dead_channel(progress(), rank(), failure_->kind(), failure_->what());
}

void SimChannel::charge_bytes(std::size_t bytes) const {
  if (costs_.reductions_are_free || bytes == 0) return;
  simgrid::s4u::this_actor::execute(static_cast<double>(bytes));
}

void SimChannel::wait_until_done(Open& open) const {
  const double began_seconds = now();
  const double patience_seconds = deadline_seconds_ - began_seconds;
  try {
    if (deadline_seconds_ == no_deadline) {
      open.communication->wait();
    } else if (patience_seconds > 0.0) {
      open.communication->wait_for(patience_seconds);
    } else if (!open.communication->test()) {
      throw timeout_of(open, 0.0);
    }
  } catch (const simgrid::TimeoutException&) {
    // The clock may be a rounding error short of the deadline.
    const double waited_seconds = now() - began_seconds;
    if (waited_seconds >= patience_seconds * (1 - 1e-9)) throw timeout_of(open, waited_seconds);
    // It was the peer's deadline, and SimGrid has ended both waits. The peer is to speak first.
    simgrid::s4u::this_actor::yield();
    throw Error(ErrorKind::peer_lost, fmt::format("{}, which has given up", describe_wait()),
                rank());
  } catch (const simgrid::Exception&) {
    throw Error(ErrorKind::peer_lost, fmt::format("{}, which ended meanwhile", describe_wait()),
                rank());
  }
}

Error SimChannel::timeout_of(const Open& open, double waited_seconds) const {
  const auto error = open.is_send ? send_timeout : receive_timeout;
  return error(progress(), rank(), open.peer, waited_seconds, open.block.bytes(), 0);
}

void SimChannel::deliver(const Open& open) const {
  const std::unique_ptr<SimMessage> message(open.received);
  pass(costs_.receive_overhead_seconds);
  const bool same_call = message->envelope.signature == envelope_of(progress(), {}).signature;
  check_envelope(progress(), rank(), open.peer, open.block, message->envelope,
                 same_call ? std::string() : message->call.describe());
  if (!open.block.is_ghost()) {
    reduce_elements(open.op, open.block.dtype, open.block.data, message->bytes.data(),
                    open.block.count);
  }
  if (open.op != Op::replace) charge_bytes(open.block.bytes());
}

void SimChannel::check_closed() const {
  check(open_.empty() || failure_.has_value(),
        "rank {} ended with {} open requests on lane {}, each must be waited for", rank(),
        open_.size(), lane_);
}

std::optional<int> SimChannel::awaited_peer() const {
  return waiting_ == nullptr ? std::nullopt : std::optional(waiting_->peer);
}

std::string SimChannel::describe_wait() const {
  const Open& open = *waiting_;
  const std::string what = open.is_send ? fmt::format("to send {} bytes to", open.block.bytes())
                                        : fmt::format("for {} bytes from", open.block.bytes());
  return fmt::format("rank {} waits {} rank {} ({}{})", rank(), what, open.peer,
                     progress().depth > 0 ? fmt::format("{}, ", progress().call.algorithm) : "",
                     progress().where());
}

}  // namespace tutti
