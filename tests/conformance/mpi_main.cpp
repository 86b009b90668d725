// The conformance suite under mpirun: all processes run the same tests in the same order, and the
// first one reports.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <memory>

#include "exec/mpi_launch.hpp"
#include "tests/conformance/mirrored_world.hpp"
#include "tests/conformance/mpi_substrate.hpp"

namespace tutti {
namespace {

constexpr double timeout_seconds = 20.0;

std::unique_ptr<JoinedTransport> transport;

// Failures of the other processes, which print nothing else.
class OnlyFailures final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::printf("rank %d: %s:%d: %s\n", transport->rank(), result.file_name(), result.line_number(),
                result.message());
  }
};

int run_all_tests() {
  transport = join_mpi();
  if (transport->rank() > 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new OnlyFailures);
  }
  const int code = RUN_ALL_TESTS();
  std::fflush(stdout);
  transport->finish(code == 0 ? "" : "a test failed", 1);
  transport.reset();
  return code;
}

}  // namespace

JoinedTransport& mpi_transport() {
  return *transport;
}

Substrate mpi_substrate() {
  return {.name = "mpi", .make = [](int size, WorldOptions options) -> std::unique_ptr<World> {
            const JoinedOptions joined{timeout_seconds, options.lanes, options.seed};
            return std::make_unique<MirroredWorld>(
                std::make_unique<JoinedWorld>(*transport, size, joined), *transport,
                timeout_seconds);
          }};
}

}  // namespace tutti

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return tutti::run_all_tests();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mpi_conformance_test: %s\n", error.what());
    return 3;
  }
}
