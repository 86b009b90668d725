#include "collectives/checked.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string_view>

namespace tutti {
namespace {

bool overlap(Block a, Block b) {
  if (a.is_ghost() || b.is_ghost()) return false;
  const std::less<const std::byte*> before;
  return before(a.data, b.data + b.bytes()) && before(b.data, a.data + a.bytes());
}

std::uint64_t checksum_of(Block block) {
  if (block.is_ghost()) return 0;
  return std::hash<std::string_view>{}(
      std::string_view(reinterpret_cast<const char*>(block.data), block.bytes()));
}

}  // namespace

Checked::Checked(Channel& inner)
    : Decorator(inner),
      exceptions_(std::uncaught_exceptions()),
      sends_(static_cast<std::size_t>(inner.size())),
      receives_(static_cast<std::size_t>(inner.size())) {}

Checked::~Checked() {
  if (open_.empty() || std::uncaught_exceptions() > exceptions_) return;
  fmt::print(stderr, "checked: the channel of rank {} is destroyed with {} open requests\n", rank(),
             open_.size());
  std::abort();
}

std::deque<std::uint64_t>& Checked::queue_of(const Open& open) {
  return (open.is_send ? sends_ : receives_)[static_cast<std::size_t>(open.peer)];
}

void Checked::check_overlap(Block block, bool writes) const {
  for (const auto& [id, open] : open_) {
    check((open.is_send && !writes) || !overlap(open.block, block),
          "checked: rank {} posts a {} of {} bytes that overlaps an open {} rank {}", rank(),
          writes ? "receive" : "send", block.bytes(), open.is_send ? "send to" : "receive from",
          open.peer);
  }
}

Request Checked::post_send(int to, Block block) {
  check_overlap(block, false);
  const Request request = inner().isend(to, block);
  const Open open{true, to, block, checksum_of(block)};
  queue_of(open).push_back(request.id);
  open_.emplace(request.id, open);
  return request;
}

Request Checked::post_recv(int from, Block block, Op op) {
  check_overlap(block, true);
  const Request request = inner().irecv(from, block, op);
  const Open open{false, from, block, 0};
  queue_of(open).push_back(request.id);
  open_.emplace(request.id, open);
  return request;
}

void Checked::complete(Request request) {
  const auto found = open_.find(request.id);
  check(found != open_.end(), "checked: rank {} waits for request {}, which is not open", rank(),
        request.id);
  const Open open = found->second;
  std::deque<std::uint64_t>& queue = queue_of(open);
  check(queue.front() == request.id,
        "checked: rank {} waits out of posting order for a request {} rank {}", rank(),
        open.is_send ? "to" : "from", open.peer);
  queue.pop_front();
  open_.erase(found);
  inner().wait(request);
  check(!open.is_send || checksum_of(open.block) == open.checksum,
        "checked: rank {} changed a block while it was being sent to rank {}", rank(), open.peer);
}

}  // namespace tutti
