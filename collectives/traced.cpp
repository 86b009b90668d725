#include "collectives/traced.hpp"

#include <utility>

namespace tutti {

Traffic& Traffic::operator+=(const Traffic& other) {
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  messages_sent += other.messages_sent;
  messages_received += other.messages_received;
  return *this;
}

// All values are numbers or names of the project, so nothing needs escaping.
std::string TraceRecord::to_json() const {
  return fmt::format(
      R"({{"rank":{},"lane":{},"kind":"{}","peer":{},"bytes":{},"dtype":"{}","op":"{}",)"
      R"("call":"{}","sequence":{},"step":{},"posted_seconds":{:.9f},"finished_seconds":{:.9f}}})",
      rank, lane, is_send ? "send" : "recv", peer, bytes, name_of(dtype), name_of(op), call,
      sequence, step, posted_seconds, finished_seconds);
}

Traced::Traced(Channel& inner, Sink sink, int lane)
    : Decorator(inner),
      sink_(std::move(sink)),
      lane_(lane),
      by_peer_(static_cast<std::size_t>(inner.size())) {}

Traffic Traced::total() const {
  Traffic sum;
  for (const Traffic& traffic : by_peer_) sum += traffic;
  return sum;
}

TraceRecord Traced::begin(Block block) const {
  TraceRecord record;
  record.rank = rank();
  record.lane = lane_;
  record.bytes = block.bytes();
  record.dtype = block.dtype;
  record.sequence = progress().sequence;
  record.step = progress().step;
  if (progress().depth > 0) record.call = progress().call.algorithm;
  if (sink_) record.posted_seconds = now();
  return record;
}

Request Traced::post_send(int to, Block block) {
  TraceRecord record = begin(block);
  record.is_send = true;
  record.peer = to;
  const Request request = inner().isend(to, block);
  open_.emplace(request.id, record);
  return request;
}

Request Traced::post_recv(int from, Block block, Op op) {
  TraceRecord record = begin(block);
  record.peer = from;
  record.op = op;
  const Request request = inner().irecv(from, block, op);
  open_.emplace(request.id, record);
  return request;
}

void Traced::complete(Request request) {
  const auto found = open_.find(request.id);
  check(found != open_.end(), "traced: rank {} waits for request {}, which is not open", rank(),
        request.id);
  TraceRecord record = found->second;
  open_.erase(found);
  inner().wait(request);
  Traffic& traffic = by_peer_[static_cast<std::size_t>(record.peer)];
  (record.is_send ? traffic.bytes_sent : traffic.bytes_received) += record.bytes;
  (record.is_send ? traffic.messages_sent : traffic.messages_received) += 1;
  if (!sink_) return;
  record.finished_seconds = now();
  sink_(record);
}

}  // namespace tutti
