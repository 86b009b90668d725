#include "exec/joined_world.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "exec/local_rank.hpp"

namespace tutti {
namespace {

using Json = nlohmann::json;

// The ends of runs wait a little longer than a rank may: it knows better what it waited for.
constexpr double precedence_seconds = 1.0;

// How a rank's run ended.
struct Failure {
  bool is_contract_error = false;
  ErrorKind kind = ErrorKind::system;
  std::string text;
  bool is_first = false;  // No other rank's was known.
};

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Failure failure_of(const std::exception_ptr& thrown, int rank) {
  try {
    throw_failure(thrown, rank);
  } catch (const Error& error) {
    return {.kind = error.kind(), .text = error.what()};
  } catch (const ContractError& error) {
    return {.is_contract_error = true, .kind = ErrorKind::usage, .text = error.what()};
  } catch (...) {
    return {.text = fmt::format("rank {} threw what is no std::exception", rank)};
  }
}

Json json_of(const Failure& failure) {
  return {{"is_contract_error", failure.is_contract_error},
          {"kind", static_cast<int>(failure.kind)},
          {"text", failure.text},
          {"is_first", failure.is_first}};
}

// What passed on all lanes, and the last call of each.
Json json_of(const std::vector<RealChannel*>& channels, int size) {
  Json lanes = Json::array();
  for (const RealChannel* const channel : channels) {
    Json peers = Json::array();
    for (int peer = 0; peer < size; ++peer) {
      const PeerTraffic traffic = channel->traffic(peer);
      peers.push_back({traffic.sent, traffic.received, traffic.last_sent.count,
                       static_cast<int>(traffic.last_sent.dtype)});
    }
    const Progress& progress = channel->progress();
    const std::string call =
        progress.sequence == 0
            ? std::string("no collective")
            : fmt::format("{} (call #{})", progress.call.describe(), progress.sequence);
    lanes.push_back({{"call", call}, {"peers", std::move(peers)}});
  }
  return lanes;
}

// Throws the failure that came first, the same on every rank.
void throw_first_failure(const std::vector<Json>& reports) {
  const Json* chosen = nullptr;
  int culprit = -1;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    if (!reports[rank].contains("failure")) continue;
    const Json& failure = reports[rank]["failure"];
    if (chosen != nullptr && (chosen->at("is_first").get<bool>() || !failure.at("is_first"))) {
      continue;
    }
    chosen = &failure;
    culprit = static_cast<int>(rank);
  }
  if (chosen == nullptr) return;
  const auto text = chosen->at("text").get<std::string>();
  if (chosen->at("is_contract_error").get<bool>()) throw ContractError(text);
  throw Error(static_cast<ErrorKind>(chosen->at("kind").get<int>()), text, culprit);
}

void check_all_received(const std::vector<Json>& reports, int size, int lanes) {
  const auto lane_of = [&](int rank, int lane) -> const Json& {
    return reports[static_cast<std::size_t>(rank)].at("lanes").at(static_cast<std::size_t>(lane));
  };
  for (int lane = 0; lane < lanes; ++lane) {
    for (int from = 0; from < size; ++from) {
      for (int to = 0; to < size; ++to) {
        const Json& sent = lane_of(from, lane).at("peers").at(static_cast<std::size_t>(to));
        const Json& received = lane_of(to, lane).at("peers").at(static_cast<std::size_t>(from));
        if (sent.at(0) == received.at(1)) continue;
        const auto count = sent.at(2).get<std::uint64_t>();
        const auto dtype = static_cast<DType>(sent.at(3).get<int>());
        throw never_received({.from = from,
                              .to = to,
                              .count = count,
                              .dtype = dtype,
                              .from_call = lane_of(from, lane).at("call"),
                              .to_call = lane_of(to, lane).at("call")});
      }
    }
  }
}

}  // namespace

JoinedWorld::JoinedWorld(JoinedTransport& transport, int size, JoinedOptions options)
    : World(size, options.lanes), transport_(transport), options_(options) {
  check(size >= 1 && options.lanes >= 1, "a world needs ranks and lanes, not {} and {}", size,
        options.lanes);
  if (size > transport.size()) {
    throw Error(ErrorKind::usage,
                fmt::format("a world of {} ranks needs as many processes, {} have joined", size,
                            transport.size()));
  }
}

std::byte* JoinedWorld::allocate(std::size_t bytes) {
  return arena_.allocate(bytes);
}

void JoinedWorld::run(const Program& program) {
  const std::uint64_t run = transport_.begin_run();
  const std::string own = transport_.rank() < size() ? run_here(run, program) : "{}";
  std::vector<Json> reports;
  try {
    for (const std::string& report :
         transport_.exchange(own, options_.timeout_seconds + precedence_seconds)) {
      reports.push_back(Json::parse(report));
    }
    reports.resize(static_cast<std::size_t>(size()));
    throw_first_failure(reports);
    check_all_received(reports, size(), lanes());
  } catch (const Json::exception& error) {
    throw Error(
        ErrorKind::mismatch,
        fmt::format("another rank's report of run {} makes no sense: {}", run, error.what()));
  } catch (const Error& error) {
    // A rank is missing; what this one knows of its end must not be lost.
    const Json report = Json::parse(own, nullptr, false);
    if (!reports.empty() || !report.contains("failure")) throw;
    throw Error(error.kind(),
                fmt::format("{}; {}", error.what(), report["failure"]["text"].get<std::string>()),
                error.rank());
  }
}

// Runs this process's rank and returns the report of it.
std::string JoinedWorld::run_here(std::uint64_t run, const Program& program) {
  const int rank = transport_.rank();
  std::vector<RealChannel*> channels;
  const ChannelMaker make_channel = [&](int lane) {
    auto channel = transport_.open_channel(run, size(), lane, options_.timeout_seconds);
    channels.push_back(channel.get());
    return channel;
  };
  Json report;
  const auto fail = [&](const std::exception_ptr& thrown) {
    Failure failure = failure_of(thrown, rank);
    failure.is_first = transport_.announce_failure(run, {failure.kind, failure.text, rank});
    report["failure"] = json_of(failure);
  };
  try {
    LocalRank self(rank, size(), lanes(), options_.seed, make_channel, fail);
    self.run(program);
    report["lanes"] = json_of(channels, size());
  } catch (...) {
    fail(std::current_exception());
  }
  return to_text(report);
}

void JoinedWorld::fetch(int rank, std::byte* data, std::size_t bytes) {
  const bool is_own = rank == transport_.rank();
  const std::string own = is_own ? std::string(reinterpret_cast<const char*>(data), bytes) : "";
  const std::vector<std::string> all =
      transport_.exchange(own, options_.timeout_seconds + precedence_seconds);
  const std::string& fetched = all[static_cast<std::size_t>(rank)];
  if (fetched.size() != bytes) {
    throw Error(ErrorKind::mismatch,
                fmt::format("rank {} expected {} bytes of results of rank {}, which sent {}; all "
                            "ranks must be started with the same arguments",
                            transport_.rank(), bytes, rank, fetched.size()),
                transport_.rank());
  }
  if (!is_own) std::memcpy(data, fetched.data(), bytes);
}

}  // namespace tutti
