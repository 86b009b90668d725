#include "exec/mpi_channel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/kernels.hpp"
#include "exec/mpi_wait.hpp"

namespace tutti {
namespace {

// What every message begins with; its payload is aligned for reductions.
struct alignas(16) Header {
  Envelope envelope;
  CallRecord call;
};

constexpr std::size_t header_buffer_bytes = sizeof(Header) + MpiChannel::small_bytes;

// Sends of small messages that may be done before MPI has let go of them.
constexpr int most_buffered = 64;

std::size_t payload_bytes(Block block) {
  return block.is_ghost() ? 0 : block.bytes();
}

bool is_small(Block block) {
  return payload_bytes(block) <= MpiChannel::small_bytes;
}

// More than these gain nothing where every rank has a processor, and lose time slices where not.
int polls_for(const MpiCalls& calls) {
  return calls.is_oversubscribed() ? 5 : 1000;
}

}  // namespace

MpiChannel::MpiChannel(MpiTransport& transport, int size, Place place, double timeout_seconds)
    : RealChannel(transport.rank(), size),
      transport_(transport),
      calls_(transport.calls()),
      place_(place),
      rounds_(transport.rank(), size,
              [this](int to, const EntryNotice& notice) {
                transport_.send_entry({place_.run, place_.lane, notice}, to);
              }),
      timeout_seconds_(timeout_seconds),
      polls_(polls_for(calls_)),
      links_(static_cast<std::size_t>(size)) {}

MpiChannel::~MpiChannel() {
  quiesce();
}

Request MpiChannel::encode(const Awaited& awaited) {
  return Request{awaited.ordinal << 24 | static_cast<std::uint64_t>(awaited.peer) << 1 |
                 (awaited.is_send ? 1U : 0U)};
}

MpiChannel::Awaited MpiChannel::decode(Request request) {
  return {static_cast<int>(request.id >> 1 & 0x7fffff), (request.id & 1) != 0, request.id >> 24};
}

PeerTraffic MpiChannel::traffic(int peer) const {
  const Link& link = link_of(peer);
  return {link.sends_posted, link.receives_done, link.last_sent};
}

// The call before may have had nothing to wait for.
void MpiChannel::on_call() {
  if (death_) return;
  settle();
  set_agreed(false);
  rounds_.begin(progress());
  try {
    look_for_entries();
  } catch (const Error& error) {
    death_ = error;
    quiesce();
    throw;
  }
}

void MpiChannel::await_agreement() {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  settle();
  set_agreed(true);
}

void MpiChannel::settle() {
  if (death_ || !rounds_.is_pending()) return;
  try {
    wait_for_entries();
  } catch (const Error& error) {
    death_ = error;
    quiesce();
    throw;
  }
}

void MpiChannel::look_for_entries() {
  for (MpiTransport::Entry& entry : transport_.take_entries(place_.run, place_.lane)) {
    rounds_.take(entry.from, std::move(entry.notice));
  }
  if (!rounds_.look()) return;
  set_agreed(true);
  for (int peer = 0; peer < size(); ++peer) open_headers(peer, link_of(peer));
  for (Link& link : links_) retire(link);
}

void MpiChannel::wait_for_entries() {
  advance();
  while (rounds_.is_pending()) wait_for({.peer = rounds_.missing(), .is_entry = true});
}

// Whether a message that is here must not be taken yet. One of another call is refused anyway.
bool MpiChannel::must_wait(const Incoming& in, const Envelope& envelope) const {
  return in.is_in_call && rounds_.is_pending() && envelope.signature == progress().signature;
}

// What every post does first.
MpiChannel::Link& MpiChannel::begin(int peer) {
  if (death_) throw dead_channel(progress(), rank(), death_->kind(), death_->what());
  ++open_requests_;
  return link_of(peer);
}

Request MpiChannel::post_send(int to, Block block) {
  Link& link = begin(to);
  const Header header{envelope_of(progress(), block), record_of(progress())};
  link.last_sent = header.envelope;
  const bool small = is_small(block);
  const std::size_t bytes = small ? payload_bytes(block) : 0;
  MpiBuffer buffer = take_buffer(header_pool_, header_buffer_bytes);
  std::memcpy(buffer.get(), &header, sizeof header);
  if (bytes > 0) std::memcpy(buffer.get() + sizeof header, block.data, bytes);
  link.sends.push_back(
      {.block = block, .is_small = small, .is_done = small && link.headers_out < most_buffered});
  Outgoing* const out = &link.sends.back();
  ++link.headers_out;
  const bool is_awaited = small && !out->is_done;
  send({.kind = Flight::Kind::header_out,
        .peer = to,
        .buffer = std::move(buffer),
        .out = is_awaited ? out : nullptr,
        .bytes = sizeof header + bytes},
       nullptr, place_.tags.header);
  if (!small) {
    receive({.kind = Flight::Kind::grant_in, .peer = to, .out = out}, nullptr, place_.tags.grant);
  }
  ++link.sends_posted;
  retire(link);
  return encode({to, true, link.sends_posted});
}

Request MpiChannel::post_recv(int from, Block block, Op op) {
  Link& link = begin(from);
  link.receives.push_back({.block = block, .op = op, .is_in_call = progress().depth > 0});
  receive({.kind = Flight::Kind::header_in,
           .peer = from,
           .buffer = take_buffer(header_pool_, header_buffer_bytes),
           .in = &link.receives.back(),
           .bytes = header_buffer_bytes},
          nullptr, place_.tags.header);
  return encode({from, false, ++link.receives_posted});
}

bool MpiChannel::is_done(const Awaited& awaited) const {
  if (awaited.is_entry) return rounds_.missing() != awaited.peer;
  const Link& link = link_of(awaited.peer);
  return awaited.ordinal <= (awaited.is_send ? link.sends_done : link.receives_done);
}

MpiChannel::Amount MpiChannel::amount_of(const Awaited& awaited) const {
  if (awaited.is_entry) return {};
  const Link& link = link_of(awaited.peer);
  if (awaited.is_send) {
    const Outgoing& out = link.sends[awaited.ordinal - link.sends_done - 1];
    return {out.sent_bytes, out.block.bytes()};
  }
  const Incoming& in = link.receives[awaited.ordinal - link.receives_done - 1];
  return {in.received_bytes, in.block.bytes()};
}

MpiBuffer MpiChannel::take_buffer(std::vector<MpiBuffer>& pool, std::size_t bytes) {
  if (pool.empty()) return MpiBuffer(new std::byte[bytes]);
  MpiBuffer buffer = std::move(pool.back());
  pool.pop_back();
  return buffer;
}

// From `data`, or where that is null, from the flight's buffer.
void MpiChannel::send(Flight flight, const void* data, int tag) {
  const void* const source = data != nullptr ? data : flight.buffer.get();
  requests_.push_back(calls_.isend(source, flight.bytes, flight.peer, tag));
  flights_.push_back(std::move(flight));
}

void MpiChannel::receive(Flight flight, void* data, int tag) {
  void* const target = data != nullptr ? data : flight.buffer.get();
  requests_.push_back(calls_.irecv(target, flight.bytes, flight.peer, tag));
  flights_.push_back(std::move(flight));
}

// Moves whatever can be moved, without waiting.
void MpiChannel::advance() {
  if (rounds_.is_pending()) look_for_entries();
  take_landed();
  // Landing puts new flights into the air, never into `landed_`.
  for (Flight& flight : landed_) land(std::move(flight));
  landed_.clear();
}

// Takes out of flights_ those that MPI has completed.
void MpiChannel::take_landed() {
  if (requests_.empty()) return;
  calls_.test_some(requests_, done_);
  std::sort(done_.begin(), done_.end());
  for (auto index = done_.rbegin(); index != done_.rend(); ++index) {
    const auto i = static_cast<std::size_t>(*index);
    landed_.push_back(std::move(flights_[i]));
    if (i + 1 < flights_.size()) flights_[i] = std::move(flights_.back());
    requests_[i] = requests_.back();
    flights_.pop_back();
    requests_.pop_back();
  }
}

void MpiChannel::land(Flight flight) {
  Link& link = link_of(flight.peer);
  switch (flight.kind) {
    case Flight::Kind::header_out:
      --link.headers_out;
      header_pool_.push_back(std::move(flight.buffer));
      if (flight.out != nullptr) flight.out->is_done = true;
      break;
    case Flight::Kind::grant_out:
      break;
    case Flight::Kind::segment_out:
      --link.segments_out;
      flight.out->sent_bytes += flight.bytes;
      flight.out->is_done = flight.out->sent_bytes == flight.out->block.bytes();
      start_segments_out(flight.peer, link);
      break;
    case Flight::Kind::header_in:
      flight.in->header = std::move(flight.buffer);
      open_headers(flight.peer, link);
      break;
    case Flight::Kind::grant_in:
      flight.out->is_granted = true;
      start_segments_out(flight.peer, link);
      break;
    case Flight::Kind::segment_in:
      land_segment_in(std::move(flight), link);
      break;
  }
  retire(link);
}

// MPI may report two arrivals in either order; each header is for the receive posted for it, but
// the payload they announce comes in the order of the receives.
void MpiChannel::open_headers(int peer, Link& link) {
  for (Incoming& in : link.receives) {
    if (in.is_open) continue;
    if (in.header == nullptr) break;
    Envelope envelope;
    std::memcpy(&envelope, in.header.get(), sizeof envelope);
    if (must_wait(in, envelope)) break;
    in.is_open = true;
    ++link.headers_taken;
    open(peer, in);
  }
  start_segments_in(peer, link);
}

void MpiChannel::open(int peer, Incoming& in) {
  Header header;
  std::memcpy(&header, in.header.get(), sizeof header);
  const Envelope own = envelope_of(progress(), in.block);
  if (own.signature != header.envelope.signature || own.count != header.envelope.count ||
      own.dtype != header.envelope.dtype || own.ghost != header.envelope.ghost) {
    const bool is_known = header.call.signature == header.envelope.signature;
    check_envelope(progress(), rank(), peer, in.block, header.envelope,
                   is_known && header.call.sequence > 0 ? header.call.describe() : std::string());
  }
  if (is_small(in.block)) {
    if (!in.block.is_ghost()) {
      reduce_elements(in.op, in.block.dtype, in.block.data, in.header.get() + sizeof header,
                      in.block.count);
    }
    in.is_done = true;
  } else {
    send({.kind = Flight::Kind::grant_out, .peer = peer}, nullptr, place_.tags.grant);
  }
  header_pool_.push_back(std::move(in.header));
}

void MpiChannel::start_segments_out(int peer, Link& link) {
  for (Outgoing& out : link.sends) {
    if (out.is_small) continue;
    if (!out.is_granted) break;
    while (out.started_bytes < out.block.bytes()) {
      if (link.segments_out == most_segments) return;
      const std::byte* const data = out.block.data + out.started_bytes;
      const std::size_t bytes = std::min(segment_bytes, out.block.bytes() - out.started_bytes);
      out.started_bytes += bytes;
      ++link.segments_out;
      send({.kind = Flight::Kind::segment_out, .peer = peer, .out = &out, .bytes = bytes}, data,
           place_.tags.segment);
    }
  }
}

void MpiChannel::start_segments_in(int peer, Link& link) {
  for (Incoming& in : link.receives) {
    if (!in.is_open) break;
    while (!in.is_done && in.started_bytes < in.block.bytes()) {
      if (link.segments_in == most_segments) return;
      const bool is_direct = in.op == Op::replace;
      Flight flight{.kind = Flight::Kind::segment_in,
                    .peer = peer,
                    .in = &in,
                    .target = in.block.data + in.started_bytes,
                    .bytes = std::min(segment_bytes, in.block.bytes() - in.started_bytes)};
      if (!is_direct) flight.buffer = take_buffer(scratch_pool_, segment_bytes);
      in.started_bytes += flight.bytes;
      ++link.segments_in;
      void* const direct = is_direct ? flight.target : nullptr;
      receive(std::move(flight), direct, place_.tags.segment);
    }
  }
}

void MpiChannel::land_segment_in(Flight flight, Link& link) {
  Incoming& in = *flight.in;
  --link.segments_in;
  // First, so that the next one travels while this one is reduced.
  start_segments_in(flight.peer, link);
  if (flight.buffer != nullptr) {
    reduce_elements(in.op, in.block.dtype, flight.target, flight.buffer.get(),
                    flight.bytes / bytes_of(in.block.dtype));
    scratch_pool_.push_back(std::move(flight.buffer));
  }
  in.received_bytes += flight.bytes;
  in.is_done = in.received_bytes == in.block.bytes();
}

// Lets go of what is done.
void MpiChannel::retire(Link& link) {
  while (!link.sends.empty() && link.sends.front().is_done) {
    link.sends.pop_front();
    ++link.sends_done;
  }
  while (!link.receives.empty() && link.receives.front().is_done) {
    link.receives.pop_front();
    ++link.receives_done;
  }
}

}  // namespace tutti
