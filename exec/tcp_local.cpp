#include "exec/tcp_local.hpp"

#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "exec/cores.hpp"
#include "exec/tcp_channel.hpp"
#include "exec/tcp_transport.hpp"

namespace tutti {
namespace {

// Ranks with a processor each look for longer than a sleep and a wake-up cost.
constexpr int yields_alone = 150, yields_shared = 20;

std::size_t ledger_bytes(const Board& board) {
  const auto size = static_cast<std::size_t>(board.size());
  return size * size * static_cast<std::size_t>(board.lanes()) * sizeof(PeerTraffic);
}

// "broadcast_linear of 10 float32, root 0 (call #1)"
std::string describe_call(const CallRecord& call) {
  if (call.sequence == 0) return "no collective";
  return fmt::format("{} (call #{})", call.describe(), call.sequence);
}

}  // namespace

LocalTcp::LocalTcp(const Board& board, Settings settings)
    : board_(board),
      settings_(std::move(settings)),
      ledgers_(ledger_bytes(board), SharedMapping::Pages::unreserved),
      session_(std::uint64_t{std::random_device()()} << 32 | std::random_device()()) {
  if (settings_.port + board.size() - 1 > std::numeric_limits<std::uint16_t>::max()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} ranks from port {} on need ports above {}", board.size(),
                            settings_.port, std::numeric_limits<std::uint16_t>::max()));
  }
  for (int rank = 0; rank < board.size(); ++rank) {
    const int port = settings_.port == 0 ? 0 : settings_.port + rank;
    listeners_.push_back(listen_at({settings_.address, static_cast<std::uint16_t>(port)}));
    members_.push_back(local_member(listeners_.back()));
  }
}

PeerTraffic* LocalTcp::ledger(int rank, int lane) const {
  return reinterpret_cast<PeerTraffic*>(ledgers_.data()) +
         (rank * board_.lanes() + lane) * board_.size();
}

ChannelMaker LocalTcp::channels_of(int rank) {
  Descriptor own = std::move(listeners_[static_cast<std::size_t>(rank)]);
  listeners_.clear();
  TcpSetup setup{.rank = rank,
                 .session = session_,
                 .listener = std::move(own),
                 .members = members_,
                 .source = settings_.address,
                 .timeout_seconds = settings_.timeout_seconds,
                 .yields = board_.size() <= available_cores() ? yields_alone : yields_shared};
  setup.failure_elsewhere = [this]() -> std::optional<KnownFailure> {
    const int failed = board_.first_failed();
    if (failed < 0) return std::nullopt;
    const FailureRecord& failure = board_.rank(failed).failure;
    const bool is_error = failure.cause == FailureRecord::Cause::error;
    return KnownFailure{is_error ? failure.kind : ErrorKind::peer_lost,
                        board_.describe_first_failure()};
  };
  const auto wanted = std::make_shared<TcpSetup>(std::move(setup));
  const auto transport = std::make_shared<std::unique_ptr<TcpTransport>>();
  return [this, rank, wanted, transport](int lane) {
    if (*transport == nullptr) *transport = std::make_unique<TcpTransport>(std::move(*wanted));
    const TcpChannel::Settings settings{.timeout_seconds = settings_.timeout_seconds,
                                        .yields = (*transport)->yields(),
                                        .ledger = ledger(rank, lane),
                                        .call = &board_.lane(rank, lane).call};
    return std::make_unique<TcpChannel>(**transport, board_.size(), TcpTransport::Place{1, lane},
                                        settings);
  };
}

void LocalTcp::check_all_received() const {
  for (int lane = 0; lane < board_.lanes(); ++lane) {
    for (int from = 0; from < board_.size(); ++from) {
      for (int to = 0; to < board_.size(); ++to) {
        const PeerTraffic& sent = ledger(from, lane)[to];
        if (sent.sent == ledger(to, lane)[from].received) continue;
        throw never_received({.from = from,
                              .to = to,
                              .count = sent.last_sent.count,
                              .dtype = sent.last_sent.dtype,
                              .from_call = describe_call(board_.lane(from, lane).call.load()),
                              .to_call = describe_call(board_.lane(to, lane).call.load())});
      }
    }
  }
}

}  // namespace tutti
