#include "profiles/predict.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "collectives/traced.hpp"
#include "sim/replay_world.hpp"
#include "topologies/shape.hpp"

namespace tutti {
namespace {

std::uintptr_t begin_of(const Block& block) {
  return reinterpret_cast<std::uintptr_t>(block.data);
}

std::uintptr_t end_of(const Block& block) {
  return begin_of(block) + block.bytes();
}

constexpr double bytes_per_second = 1e12;  // Of work: a byte is a picosecond.

// Ranks on one host of `cores`, with messages that take nothing but `latency_seconds`.
Shape machine_of(int ranks, int cores, double latency_seconds) {
  Shape shape;
  shape.name = fmt::format("{} ranks on {} cores", ranks, cores);
  shape.hosts = {
      {.name = "machine", .reduction_bytes_per_second = bytes_per_second, .cores = cores}};
  shape.nodes = {{.name = "machine"}};
  shape.links = {{.name = "memory",
                  .link_class = "memory",
                  .from = 0,
                  .to = 0,
                  .bandwidth_bytes_per_second = 1e18,
                  .latency_seconds = latency_seconds,
                  .opposite = 0}};
  shape.placement.assign(static_cast<std::size_t>(ranks), 0);
  shape.route = [](int, int) { return Route{0}; };
  return shape;
}

double simulate(const RankProfile& profile, const Contention& contention, int ranks,
                std::size_t buffer_bytes, int calls, const GhostCall& call) {
  SimOptions options;
  options.eager_bytes = ProfiledChannel::eager_bytes;
  ReplayWorld world(machine_of(ranks, contention.cores, contention.latency_seconds), ranks,
                    options);
  world.run([&](Rank& rank) {
    ProfiledChannel channel(rank.channel(), profile, contention, buffer_bytes);
    for (int i = 0; i < calls; ++i) {
      channel.work_among_all(profile.call.seconds);
      call(channel);
    }
  });
  return world.seconds() / calls;
}

// The mean size of a message of the busiest kind: all bytes over all messages.
std::size_t mean_message_bytes(int ranks, const GhostCall& call) {
  Shape shape = machine_of(ranks, ranks, 0.0);
  ReplayWorld world(std::move(shape), ranks);
  std::size_t messages = 0, bytes = 0;
  world.run([&](Rank& rank) {
    Traced traced(rank.channel());
    call(traced);
    const Traffic total = traced.total();
    messages += total.messages_sent;
    bytes += total.bytes_sent;
  });
  return messages == 0 ? 1 : std::max<std::size_t>(1, bytes / messages);
}

}  // namespace

void Ranges::add(std::uintptr_t begin, std::uintptr_t end) {
  if (begin >= end) return;
  remove(begin, end);
  auto next = ranges_.lower_bound(begin);
  if (next != ranges_.end() && next->first == end) {
    end = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    ranges_.emplace_hint(next, begin, end);
  }
}

void Ranges::remove(std::uintptr_t begin, std::uintptr_t end) {
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [from, to] = *range;
    range = ranges_.erase(range);
    if (from < begin) ranges_.emplace_hint(range, from, begin);
    if (to > end) range = ranges_.emplace_hint(range, end, to);
    if (to > end) break;
  }
}

std::size_t Ranges::covered(std::uintptr_t begin, std::uintptr_t end) const {
  std::size_t bytes = 0;
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin()) --range;
  for (; range != ranges_.end() && range->first < end; ++range) {
    const std::uintptr_t from = std::max(begin, range->first), to = std::min(end, range->second);
    if (from < to) bytes += to - from;
  }
  return bytes;
}

Contention Contention::of(const RankProfile& profile, int ranks, std::size_t message_bytes,
                          std::size_t buffer_bytes) {
  // Of a small message: what is no work of its sender and its receiver.
  const auto wait = [&](Curve curve) {
    return std::max(0.0, profile.seconds(curve, 1, 1) - 2 * profile.gap.seconds);
  };
  Contention contention;
  contention.lone_latency_seconds = wait(Curve::alone);
  const double alone =
      profile.seconds(Curve::alone, message_bytes, buffer_bytes) - contention.lone_latency_seconds;
  const double loaded =
      profile.seconds(Curve::loaded, message_bytes, buffer_bytes) - wait(Curve::loaded);
  const double ratio =
      alone > 0.0 ? std::clamp(loaded / alone, 1.0, static_cast<double>(ranks)) : 1.0;
  contention.cores = std::clamp(static_cast<int>(std::lround(ranks / ratio)), 1, ranks);
  contention.factor = ratio * contention.cores / ranks;
  const bool takes_turns =
      profile.seconds(Curve::loaded, 1, 1) > 2 * profile.seconds(Curve::alone, 1, 1);
  contention.latency_seconds =
      wait(takes_turns || contention.cores < ranks ? Curve::loaded : Curve::alone);
  return contention;
}

ProfiledChannel::ProfiledChannel(Channel& inner, const RankProfile& profile,
                                 const Contention& contention, std::size_t buffer_bytes)
    : Decorator(inner), profile_(profile), contention_(contention), buffer_bytes_(buffer_bytes) {}

double ProfiledChannel::seconds(Curve curve, std::size_t bytes) const {
  return profile_.seconds(curve, bytes, buffer_bytes_);
}

Block ProfiledChannel::carried(Block block) const {
  const std::size_t from = profile_.rendezvous_bytes;
  const bool is_rendezvous = from > 0 && block.bytes() >= from;
  return {nullptr, is_rendezvous ? eager_bytes + 1 : eager_bytes, DType::int8};
}

double ProfiledChannel::sender_seconds(std::size_t bytes) const {
  return std::min(seconds(Curve::sent, bytes), seconds(Curve::alone, bytes)) * contention_.factor;
}

void ProfiledChannel::work(double seconds) {
  const double bytes = std::round(seconds * bytes_per_second);
  if (bytes < 1.0) return;
  Work work;
  work.kind = Work::Kind::copy;
  work.target = {nullptr, static_cast<std::size_t>(bytes), DType::int8};
  work.source = work.target;
  inner().charge(work);
}

void ProfiledChannel::work_among_all(double seconds) {
  work(seconds * contention_.cores / size());
}

// What writing the block took more because others had read it.
double ProfiledChannel::write(Block block, Curve owned, Curve shared) {
  const std::size_t covered = shared_.covered(begin_of(block), end_of(block));
  if (covered == 0) return 0.0;
  shared_.remove(begin_of(block), end_of(block));
  const double share = static_cast<double>(covered) / static_cast<double>(block.bytes());
  const double more = seconds(shared, block.bytes()) - seconds(owned, block.bytes());
  return share * std::max(0.0, more);
}

void ProfiledChannel::charge(const Work& work_done) {
  if (work_done.kind == Work::Kind::scratch || work_done.kind == Work::Kind::compute) {
    return inner().charge(work_done);
  }
  const Block target = work_done.target;
  const bool is_copy = work_done.kind == Work::Kind::copy;
  if (is_copy && target.data == work_done.source.data) return;
  const double more = write(target, Curve::loaded, Curve::loaded_shared);
  work_among_all(seconds(is_copy ? Curve::copied : Curve::combined, target.bytes()) + more);
}

Request ProfiledChannel::post_send(int to, Block block) {
  work(sender_seconds(block.bytes()));
  const Request request = inner().isend(to, carried(block));
  open_[request.id] = {block, Op::replace, true};
  return request;
}

Request ProfiledChannel::post_recv(int from, Block block, Op op) {
  const Request request = inner().irecv(from, carried(block));
  open_[request.id] = {block, op, false};
  return request;
}

void ProfiledChannel::complete(Request request) {
  inner().wait(request);
  const Open open = open_.at(request.id);
  open_.erase(request.id);
  const Block block = open.block;
  const std::size_t bytes = block.bytes();
  if (open.is_send) return shared_.add(begin_of(block), end_of(block));
  const double alone = seconds(Curve::alone, bytes) - contention_.lone_latency_seconds;
  work(alone * contention_.factor - sender_seconds(bytes));
  const bool is_reduced = open.op != Op::replace;
  double more = write(block, is_reduced ? Curve::reduced : Curve::loaded,
                      is_reduced ? Curve::reduced_shared : Curve::loaded_shared);
  if (is_reduced) {
    more += std::max(0.0, seconds(Curve::reduced, bytes) - seconds(Curve::loaded, bytes));
  }
  work_among_all(more);
}

double predicted_seconds(const Profile& profile, int ranks, std::size_t buffer_bytes, int calls,
                         const GhostCall& call) {
  const RankProfile& measured = profile.of(ranks);
  const std::size_t message_bytes = mean_message_bytes(ranks, call);
  const Contention contention = Contention::of(measured, ranks, message_bytes, buffer_bytes);
  return simulate(measured, contention, ranks, buffer_bytes, calls, call);
}

}  // namespace tutti
