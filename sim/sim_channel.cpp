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
  ++sends_;
  if (eager_ == nullptr) return rendezvous_;
  eagers_.push_back(eager);
  return eager ? eager_ : rendezvous_;
}

simgrid::s4u::Mailbox* SimStream::next_for_receive() {
  if (sends_ == 0) {
    ++receives_;
    return rendezvous_;
  }
  --sends_;
  if (eager_ == nullptr) return rendezvous_;
  const bool eager = eagers_.front();
  eagers_.pop_front();
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

SimMessage* SimStreams::take_message() {
  if (free_messages_.empty()) return &messages_.emplace_back();
  SimMessage* const message = free_messages_.back();
  free_messages_.pop_back();
  return message;
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
  SimMessage* const message = streams_.take_message();
  message->envelope = envelope_of(progress(), block);
  message->call = progress().depth > 0 ? progress().call : Call{};
  message->bytes.clear();
  if (!block.is_ghost()) message->bytes.assign(block.data, block.data + block.bytes());

  const std::uint32_t index = open(true, to, block);
  Open& opened = *requests_[index];
  SimStream& stream = stream_to(to);
  const bool eager = block.bytes() <= streams_.eager_bytes();
  const std::size_t occupied_bytes = block.bytes() + stream.overhead_bytes();
  opened.communication = stream.next_for_send(eager)->put_async(message, occupied_bytes);
  if (streams_.observer() != nullptr) opened.message = observe_post(opened);
  return request_of(index);
}

Request SimChannel::post_recv(int from, Block block, Op op) {
  check_alive();
  const std::uint32_t index = open(false, from, block);
  Open& opened = *requests_[index];
  opened.op = op;
  simgrid::s4u::Mailbox* const mailbox = stream_from(from).next_for_receive();
  opened.communication = mailbox->get_async<SimMessage>(&opened.received);
  if (streams_.observer() != nullptr) opened.message = observe_post(opened);
  return request_of(index);
}

void SimChannel::complete(Request request) {
  check_alive();
  Open& opened = find(request);
  try {
    waiting_ = &opened;
    const bool is_observed = streams_.observer() != nullptr;
    const double began_seconds = is_observed ? now() : 0.0;
    wait_until_done(opened);
    waiting_ = nullptr;
    if (is_observed) observe_wait(opened, began_seconds);
    if (!opened.is_send) deliver(opened);
    close(static_cast<std::uint32_t>(request.id) - 1);
  } catch (const Error& error) {
    waiting_ = nullptr;
    failure_ = error;
    throw;
  }
}

SimStream& SimChannel::stream_to(int peer) {
  if (last_to_.peer != peer) last_to_ = {peer, &streams_.at(lane_, rank(), peer)};
  return *last_to_.stream;
}

SimStream& SimChannel::stream_from(int peer) {
  if (last_from_.peer != peer) last_from_ = {peer, &streams_.at(lane_, peer, rank())};
  return *last_from_.stream;
}

std::uint32_t SimChannel::open(bool is_send, int peer, const Block& block) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(requests_.size()));
    requests_.push_back(std::make_unique<Open>());
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Open& opened = *requests_[index];
  ++opened.uses;
  opened.is_open = true;
  opened.is_send = is_send;
  opened.peer = peer;
  opened.block = block;
  ++open_requests_;
  return index;
}

void SimChannel::close(std::uint32_t index) {
  Open& closed = *requests_[index];
  closed.is_open = false;
  closed.communication = nullptr;
  closed.received = nullptr;
  free_.push_back(index);
  --open_requests_;
}

Request SimChannel::request_of(std::uint32_t index) const {
  return {(std::uint64_t{requests_[index]->uses} << 32) | (index + 1)};
}

SimChannel::Open& SimChannel::find(Request request) {
  const auto index = static_cast<std::uint32_t>(request.id) - 1;
  const bool is_open = index < requests_.size() && requests_[index]->is_open &&
                       requests_[index]->uses == request.id >> 32;
  check(is_open, "rank {} waits for request {}, which is not open", rank(), request.id);
  return *requests_[index];
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
  const bool has_deadline = deadline_seconds_ != no_deadline;
  const double began_seconds = has_deadline ? now() : 0.0;
  const double patience_seconds = deadline_seconds_ - began_seconds;
  try {
    if (!has_deadline) {
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

void SimChannel::deliver(const Open& open) {
  SimMessage* const message = open.received;
  pass(costs_.receive_overhead_seconds);
  const bool same_call = message->envelope.signature == envelope_of(progress(), {}).signature;
  check_envelope(progress(), rank(), open.peer, open.block, message->envelope,
                 same_call ? std::string() : message->call.describe());
  if (!open.block.is_ghost()) {
    reduce_elements(open.op, open.block.dtype, open.block.data, message->bytes.data(),
                    open.block.count);
  }
  streams_.give_back(message);
  if (open.op != Op::replace) charge_bytes(open.block.bytes());
}

void SimChannel::check_closed() const {
  check(open_requests_ == 0 || failure_.has_value(),
        "rank {} ended with {} open requests on lane {}, each must be waited for", rank(),
        open_requests_, lane_);
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
