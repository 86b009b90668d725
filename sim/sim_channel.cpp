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

SimStream::SimStream(int lane, int from, int to, simgrid::s4u::ActorPtr receiver,
                     std::size_t overhead_bytes)
    : overhead_bytes_(overhead_bytes) {
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
  const std::size_t overhead_bytes = overhead_bytes_ ? overhead_bytes_(from, to) : 0;
  return streams_.try_emplace(key, lane, from, to, receiver, overhead_bytes).first->second;
}

void SimStreams::check_all_received() const {
  for (const auto& [key, stream] : streams_) {
    if (stream.unreceived() == 0) continue;
    const auto [lane, from, to] = key;
    throw never_received(lane, from, to, stream.unreceived());
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
  SimStream& stream = streams_.at(lane_, rank(), to);
  const std::size_t occupied_bytes = block.bytes() + stream.overhead_bytes();
  open.communication = stream.next_for_send(eager)->put_async(message.release(), occupied_bytes);
  if (streams_.observer() != nullptr) open.message = observe_post(open);
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
  if (streams_.observer() != nullptr) open.message = observe_post(open);
  return request;
}

void SimChannel::complete(Request request) {
  check_alive();
  const auto found = open_.find(request.id);
  check(found != open_.end(), "rank {} waits for request {}, which is not open", rank(),
        request.id);
  try {
    waiting_ = &found->second;
    const double began_seconds = now();
    wait_until_done(found->second);
    waiting_ = nullptr;
    if (streams_.observer() != nullptr) observe_wait(found->second, began_seconds);
    if (!found->second.is_send) deliver(found->second);
    open_.erase(found);
  } catch (const Error& error) {
    waiting_ = nullptr;
    failure_ = error;
    throw;
  }
}

std::size_t SimChannel::observe_post(const Open& open) const {
  MessageRecord record;
  record.from = open.is_send ? rank() : open.peer;
  record.to = open.is_send ? open.peer : rank();
  record.lane = lane_;
  record.bytes = open.block.bytes();
  (open.is_send ? record.send_step : record.receive_step) = progress().step;
  SimObserver& observer = *streams_.observer();
  return open.is_send ? observer.post_send(record, now()) : observer.post_receive(record, now());
}

void SimChannel::observe_wait(const Open& open, double began_seconds) const {
  BlockRecord block;
  block.rank = rank();
  block.lane = lane_;
  block.is_send = open.is_send;
  block.message = open.message;
  block.begin_seconds = began_seconds;
  block.end_seconds = now();
  streams_.observer()->finish(block, open.communication->get_finish_time());
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

std::optional<RankState::Wait> SimChannel::waits_for() const {
  if (waiting_ == nullptr) return std::nullopt;
  return RankState::Wait{waiting_->peer, describe_wait()};
}

std::string SimChannel::describe_wait() const {
  return tutti::describe_wait(progress(), rank(), waiting_->is_send, waiting_->block.bytes(),
                              waiting_->peer);
}

}  // namespace tutti
