#include "experiments/transport.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>
#include <vector>

#include "exec/fork_world.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

struct Joined {
  Transport transport = Transport::tcp;
  std::unique_ptr<JoinedTransport> connection;
  std::string failure;  // To be reported at the end.
};

constexpr int operating_error = 3;

void complain(const std::string& text) {
  std::fprintf(stderr, "tutti: %s\n", text.c_str());
}

// "3 TEXT".
int exit_code_of(const std::string& report) {
  int code = 0;
  std::from_chars(report.data(), report.data() + report.size(), code);
  return report.empty() ? 0 : code > 0 ? code : operating_error;
}

Joined& the_joined() {
  static Joined joined;
  return joined;
}

}  // namespace

Transport parse_transport(const std::string& name, std::initializer_list<Transport> valid) {
  std::vector<std::string> names;
  for (const Transport transport : valid) {
    if (name_of(transport) == name) return transport;
    names.push_back(name_of(transport));
  }
  throw Error(ErrorKind::usage, fmt::format("unknown transport '{}', expected one of {}", name,
                                            fmt::join(names, ", ")));
}

std::string name_of(Transport transport) {
  switch (transport) {
    case Transport::shm:
      return "shm";
    case Transport::tcp:
      return "tcp";
    case Transport::mpi:
      return "mpi";
    case Transport::sim:
      return "sim";
  }
  return "";
}

std::unique_ptr<World> make_world(Transport transport, int ranks, const WorldFlags& flags) {
  if (transport == Transport::sim) {
    return std::make_unique<SimWorld>(star_shape(ranks, 12.5e9, 5e-6), ranks);
  }
  if (joined() != nullptr) {
    const Transport present = the_joined().transport;
    if (transport != present) {
      throw Error(ErrorKind::usage,
                  fmt::format("--transport {}: this process has joined others over {}",
                              name_of(transport), name_of(present)));
    }
    return std::make_unique<JoinedWorld>(*joined(), ranks,
                                         JoinedOptions{.timeout_seconds = flags.timeout_seconds});
  }
  if (transport == Transport::mpi) {
    throw Error(ErrorKind::usage, "--transport mpi needs mpirun or srun, which start the ranks");
  }
  return std::make_unique<ForkWorld>(
      ranks, ForkOptions{.timeout_seconds = flags.timeout_seconds,
                         .checks_calls = flags.checks_calls,
                         .pins = flags.pins,
                         .wire = transport == Transport::tcp ? Wire::tcp : Wire::shm,
                         .address = flags.address,
                         .port = flags.port});
}

void join(Transport transport, std::unique_ptr<JoinedTransport> joined) {
  the_joined() = {transport, std::move(joined), ""};
}

JoinedTransport* joined() {
  return the_joined().connection.get();
}

bool is_first_rank() {
  return joined() == nullptr || joined()->rank() == 0;
}

std::string default_transport() {
  return name_of(joined() == nullptr ? Transport::shm : the_joined().transport);
}

int default_ranks() {
  return joined() == nullptr ? 4 : joined()->size();
}

void report_failure(const std::string& text) {
  if (joined() == nullptr) return complain(text);
  the_joined().failure = text;
}

int finish_joined(int exit_code) {
  const std::string& text = the_joined().failure;
  const std::string report = exit_code == 0 ? "" : fmt::format("{} {}", exit_code, text);
  std::vector<std::string> reports;
  try {
    reports = joined()->finish(report, exit_code);
  } catch (const Error& error) {
    complain(error.what());
    exit_code = std::max(exit_code, operating_error);
  }
  const bool is_said = !is_first_rank() && !reports.empty() && reports.front() == report;
  if (!text.empty() && !is_said) complain(text);
  for (const std::string& each : reports) exit_code = std::max(exit_code, exit_code_of(each));
  the_joined().connection.reset();
  return exit_code;
}

void check_not_joined(const std::string& command) {
  if (joined() == nullptr) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} needs all ranks on one machine; call it without 'tutti rank' and "
                          "mpirun, or check results with bench -c 1",
                          command));
}

}  // namespace tutti
