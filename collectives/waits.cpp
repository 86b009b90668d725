#include "collectives/waits.hpp"

#include <algorithm>
#include <numeric>

namespace tutti {

Waits::Waits(Channel& inner) : Decorator(inner), by_peer_(static_cast<std::size_t>(inner.size())) {}

void Waits::reset() {
  std::fill(by_peer_.begin(), by_peer_.end(), 0.0);
}

Request Waits::post_send(int to, Block block) {
  const Request request = inner().isend(to, block);
  open_.push_back({request.id, to});
  return request;
}

Request Waits::post_recv(int from, Block block, Op op) {
  const Request request = inner().irecv(from, block, op);
  open_.push_back({request.id, from});
  return request;
}

void Waits::complete(Request request) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.id == request.id; });
  check(found != open_.end(), "waits: rank {} waits for request {}, which is not open", rank(),
        request.id);
  const int peer = found->peer;
  open_.erase(found);
  const double start_seconds = now();
  inner().wait(request);
  by_peer_[static_cast<std::size_t>(peer)] += now() - start_seconds;
}

WaitReport report_waits(const std::vector<std::vector<double>>& waited_seconds,
                        const std::vector<double>& total_seconds) {
  WaitReport report;
  double sum_seconds = 0.0;
  for (std::size_t rank = 0; rank < waited_seconds.size(); ++rank) {
    const std::vector<double>& of_rank = waited_seconds[rank];
    RankWaits waits;
    waits.seconds = std::accumulate(of_rank.begin(), of_rank.end(), 0.0);
    if (total_seconds[rank] > 0.0) waits.share = waits.seconds / total_seconds[rank];
    const auto longest = std::max_element(of_rank.begin(), of_rank.end());
    if (*longest > 0.0) {
      waits.peer = static_cast<int>(longest - of_rank.begin());
      waits.peer_seconds = *longest;
    }
    sum_seconds += waits.seconds;
    report.ranks.push_back(waits);
  }
  const auto least = std::min_element(
      report.ranks.begin(), report.ranks.end(),
      [](const RankWaits& a, const RankWaits& b) { return a.seconds < b.seconds; });
  const auto others = static_cast<double>(report.ranks.size() - 1);
  if (2.0 * least->seconds * others < sum_seconds - least->seconds) {
    report.straggler = static_cast<int>(least - report.ranks.begin());
  }
  return report;
}

}  // namespace tutti
