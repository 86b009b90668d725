#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/faulty.hpp"
#include "collectives/run.hpp"
#include "sim/fault.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Shape star(int hosts) {
  return star_shape(hosts, 12.5e9, 5e-6);
}

Block ghost(std::size_t bytes) {
  return {nullptr, bytes, DType::uint8};
}

/// The error of running `program`.
Error failure_of(int size, const Program& program, SimOptions options = {}) {
  SimWorld world(star(size), size, options);
  try {
    world.run(program);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::usage, "no error");
}

void expect_failure(const Error& error, ErrorKind kind, int rank,
                    const testing::Matcher<const std::string&>& text) {
  EXPECT_EQ(name_of(error.kind()), name_of(kind));
  EXPECT_EQ(error.rank(), rank);
  EXPECT_THAT(std::string(error.what()), text);
}

TEST(SimFailure, ARanksErrorReachesTheCallerWithItsRank) {
  const Error error = failure_of(3, [](Rank& rank) {
    if (rank.index() == 2) throw Error(ErrorKind::mismatch, "a reason");
    rank.channel().recv(2, ghost(1));
  });
  expect_failure(error, ErrorKind::mismatch, 2, "a reason");
}

TEST(SimFailure, AnyOtherExceptionNamesItsRank) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) throw std::runtime_error("out of luck");
  });
  expect_failure(error, ErrorKind::system, 1, "rank 1 failed: out of luck");
}

TEST(SimFailure, AnExceptionOfNoKnownTypeNamesItsRank) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) throw 42;
  });
  expect_failure(error, ErrorKind::system, 1, HasSubstr("rank 1 threw"));
}

TEST(SimFailure, AProgrammerErrorStaysOne) {
  SimWorld world(star(2), 2);
  try {
    world.run([](Rank& rank) { rank.channel(7); });
    FAIL();
  } catch (const ContractError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0"), HasSubstr("lane 7")));
  }
}

TEST(SimFailure, ATasksFailureIsItsRanks) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) rank.spawn([] { throw Error(ErrorKind::usage, "a task's reason"); });
  });
  expect_failure(error, ErrorKind::usage, 1, "a task's reason");
}

TEST(SimFailure, TheFirstFailureInSimulatedTimeWins) {
  const Error error = failure_of(3, [](Rank& rank) {
    rank.channel().charge({Work::Kind::compute, 3.0 - rank.index(), {}, {}});
    throw Error(ErrorKind::system, "late or early");
  });
  EXPECT_EQ(error.rank(), 2);
}

TEST(SimFailure, AWorldCanRunAgainAfterAFailure) {
  SimWorld world(star(2), 2);
  EXPECT_THROW(world.run([](Rank&) { throw std::runtime_error("once"); }), Error);
  world.run([](Rank& rank) { rank.channel().charge({Work::Kind::compute, 1.0, {}, {}}); });
  EXPECT_DOUBLE_EQ(world.seconds(), 1.0);
}

TEST(SimFailure, MismatchedSizesNameBothRanksAndBothSizes) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(100));
    if (rank.index() == 1) rank.channel().recv(0, ghost(200));
  });
  expect_failure(
      error, ErrorKind::mismatch, 1,
      AllOf(HasSubstr("rank 1"), HasSubstr("rank 0"), HasSubstr("100"), HasSubstr("200")));
}

TEST(SimFailure, MismatchedSizesAreFoundAcrossTheEagerThreshold) {
  for (const int late : {0, 1}) {
    const Error error = failure_of(2,
                                   [late](Rank& rank) {
                                     if (rank.index() == late)
                                       rank.channel().charge({Work::Kind::compute, 1.0, {}, {}});
                                     if (rank.index() == 0) rank.channel().send(1, ghost(100));
                                     if (rank.index() == 1) rank.channel().recv(0, ghost(200));
                                   },
                                   {.eager_bytes = 150});
    expect_failure(error, ErrorKind::mismatch, 1, AllOf(HasSubstr("100"), HasSubstr("200")));
  }
}

TEST(SimFailure, DifferentCallsNameBoth) {
  const Error error = failure_of(2, [](Rank& rank) {
    const char* const name = rank.index() == 0 ? "ring" : "tree";
    run(find_algorithm(Collective::allreduce, name), rank.channel(),
        Block{nullptr, 64, DType::float32});
  });
  EXPECT_EQ(name_of(error.kind()), "mismatch");
  EXPECT_THAT(error.what(), AllOf(HasSubstr("allreduce_ring"), HasSubstr("allreduce_tree")));
}

TEST(SimFailure, ADeadlockNamesWhoWaitsForWhom) {
  const Error error =
      failure_of(3, [](Rank& rank) { rank.channel().recv((rank.index() + 1) % 3, ghost(40)); });
  expect_failure(error, ErrorKind::deadlock, -1,
                 AllOf(HasSubstr("rank 0 waits for 40 bytes from rank 1"),
                       HasSubstr("rank 1 waits for 40 bytes from rank 2"),
                       HasSubstr("rank 2 waits for 40 bytes from rank 0")));
}

TEST(SimFailure, ADeadlockOfManyRanksHasABoundedText) {
  const Error error =
      failure_of(100, [](Rank& rank) { rank.channel().recv((rank.index() + 1) % 100, ghost(40)); });
  EXPECT_THAT(error.what(), HasSubstr("and 84 more"));
}

TEST(SimFailure, ARankThatNeverSendsIsNamedByTheOneThatWaits) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) rank.channel().recv(0, ghost(40));
  });
  expect_failure(error, ErrorKind::peer_lost, 1,
                 HasSubstr("rank 1 waits for 40 bytes from rank 0 (a point outside any "
                           "collective), which has ended"));
}

TEST(SimFailure, AMessageThatNobodyReceivesNamesBothRanks) {
  const Program program = [](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(40));
  };
  expect_failure(failure_of(2, program), ErrorKind::peer_lost, 0,
                 HasSubstr("rank 0 waits to send 40 bytes to rank 1"));
  expect_failure(failure_of(2, program, {.eager_bytes = 64}), ErrorKind::mismatch, 1,
                 "rank 1 ended without receiving 1 messages that rank 0 sent on lane 0");
}

TEST(SimFailure, ARequestThatNobodyWaitsForIsAProgrammerError) {
  SimWorld world(star(2), 2);
  EXPECT_THROW(world.run([](Rank& rank) {
    if (rank.index() == 0) rank.channel().isend(1, ghost(40));
    if (rank.index() == 1) rank.channel().recv(0, ghost(40));
  }),
               ContractError);
}

TEST(SimFailure, AWaitForTheSameRequestAgainIsAProgrammerError) {
  SimWorld world(star(2), 2);
  EXPECT_THROW(world.run([](Rank& rank) {
    if (rank.index() == 0) rank.channel().send(1, ghost(40));
    if (rank.index() == 1) {
      const Request request = rank.channel().irecv(0, ghost(40));
      rank.channel().wait(request);
      rank.channel().wait(request);
    }
  }),
               ContractError);
}

TEST(SimFailure, ADeadlineEndsAReceiveAtExactlyItsTime) {
  SimWorld world(star(2), 2);
  auto* const end_seconds = reinterpret_cast<double*>(world.allocate(sizeof(double)));
  try {
    world.run([&](Rank& rank) {
      Channel& channel = rank.channel();
      if (rank.index() == 0) return channel.charge({Work::Kind::compute, 9.0, {}, {}});
      channel.charge({Work::Kind::compute, 0.5, {}, {}});
      channel.set_deadline(2.0);
      try {
        channel.recv(0, ghost(40));
      } catch (const Error&) {
        *end_seconds = channel.now();
        throw;
      }
    });
    FAIL();
  } catch (const Error& error) {
    expect_failure(error, ErrorKind::timeout, 1,
                   AllOf(HasSubstr("rank 1 waited 1.500 s for 40 bytes from rank 0"),
                         HasSubstr("received 0")));
  }
  EXPECT_DOUBLE_EQ(*end_seconds, 2.0);
}

TEST(SimFailure, ADeadlineEndsASendAndATransferUnderWay) {
  const Error sending = failure_of(2, [](Rank& rank) {
    rank.channel().set_deadline(1.0);
    if (rank.index() == 0) rank.channel().send(1, ghost(40));
    if (rank.index() == 1) rank.channel().charge({Work::Kind::compute, 9.0, {}, {}});
  });
  expect_failure(sending, ErrorKind::timeout, 0, HasSubstr("rank 0 waited 1.000 s to send 40"));
  const Error moving = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) rank.channel().set_deadline(1.0);
    if (rank.index() == 0) rank.channel().send(1, ghost(std::size_t{1} << 40));
    if (rank.index() == 1) rank.channel().recv(0, ghost(std::size_t{1} << 40));
  });
  expect_failure(moving, ErrorKind::timeout, 1, HasSubstr("rank 1 waited 1.000 s"));
}

TEST(SimFailure, APassedDeadlineEndsTheNextWaitAtOnceUnlessItIsDone) {
  const Error error = failure_of(2, [](Rank& rank) {
    Channel& channel = rank.channel();
    if (rank.index() == 0) {
      channel.send(1, ghost(40));
      return channel.charge({Work::Kind::compute, 9.0, {}, {}});
    }
    const Request first = channel.irecv(0, ghost(40)), second = channel.irecv(0, ghost(50));
    channel.charge({Work::Kind::compute, 1.0, {}, {}});
    channel.set_deadline(0.5);
    channel.wait(first);
    channel.wait(second);
  });
  expect_failure(error, ErrorKind::timeout, 1, HasSubstr("rank 1 waited 0.000 s for 50 bytes"));
}

TEST(SimFailure, AMetDeadlineChangesNoTime) {
  std::vector<double> ends;
  for (const bool limited : {false, true}) {
    SimWorld world(star(4), 4);
    world.run([limited](Rank& rank) {
      if (limited) rank.channel().set_deadline(1.0);
      run(find_algorithm(Collective::allreduce, "ring"), rank.channel(), ghost(100000));
    });
    ends.push_back(world.seconds());
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(SimFailure, AChannelIsDeadAfterItsFirstError) {
  SimWorld world(star(2), 2);
  auto* const dead = reinterpret_cast<bool*>(world.allocate(4));
  world.run([&](Rank& rank) {
    Channel& channel = rank.channel();
    channel.set_deadline(1.0);
    if (rank.index() == 0) return channel.charge({Work::Kind::compute, 9.0, {}, {}});
    EXPECT_THROW(channel.recv(0, ghost(40)), Error);
    const std::array<std::function<void()>, 4> uses = {
        [&] { channel.send(0, ghost(1)); }, [&] { channel.recv(0, ghost(1)); },
        [&] { channel.charge({}); }, [&] { channel.wait(Request{1}); }};
    for (std::size_t use = 0; use < uses.size(); ++use) {
      try {
        uses[use]();
      } catch (const Error& error) {
        dead[use] = error.kind() == ErrorKind::timeout &&
                    std::string(error.what()).find("dead") != std::string::npos;
      }
    }
  });
  for (int use = 0; use < 4; ++use) EXPECT_TRUE(dead[use]) << use;
}

/// A ring allreduce on 4 ranks where rank 2 has the fault.
Program faulty_ring(Fault fault, double deadline = no_deadline) {
  return [=](Rank& rank) {
    Faulty channel(rank.channel(), rank.index() == 2 ? std::vector{fault} : std::vector<Fault>{},
                   simulated_faults(rank));
    channel.set_deadline(deadline);
    run(find_algorithm(Collective::allreduce, "ring"), channel, ghost(4000));
  };
}

TEST(SimFailure, ADelayedRankDelaysTheOthersAndNothingElse) {
  SimWorld world(star(4), 4);
  world.run(faulty_ring({Fault::Kind::delay, 3, 0.25}));
  EXPECT_GT(world.seconds(), 0.25);
  EXPECT_LT(world.seconds(), 0.251);
}

TEST(SimFailure, AStalledRankIsNamedAtTheOthersDeadlineOrInTheDeadlock) {
  expect_failure(
      failure_of(4, faulty_ring({Fault::Kind::stall, 3, 0.0}, 1.0)), ErrorKind::timeout, 3,
      AllOf(HasSubstr("allreduce_ring: rank 3 waited 1.000 s for 1000 bytes from rank 2"),
            HasSubstr("at step 2 of 6")));
  expect_failure(failure_of(4, faulty_ring({Fault::Kind::stall, 3, 0.0})), ErrorKind::deadlock, -1,
                 AllOf(HasSubstr("rank 2 is stalled"), HasSubstr("from rank 2")));
}

TEST(SimFailure, AKilledRankIsNamedByTheRankThatNeedsIt) {
  const Error error = failure_of(4, faulty_ring({Fault::Kind::kill, 3, 0.0}));
  expect_failure(
      error, ErrorKind::peer_lost, 1,
      AllOf(HasSubstr("rank 1 waits to send 1000 bytes to rank 2"), HasSubstr("which was killed")));
}

TEST(SimFailure, AKilledRankThatNobodyNeedsIsStillMissed) {
  const Error error = failure_of(4, [](Rank& rank) {
    if (rank.index() == 2) simulated_faults(rank)({Fault::Kind::kill, 0, 0.0});
  });
  expect_failure(error, ErrorKind::peer_lost, 2, "rank 2 was killed");
}

TEST(SimFailure, AKilledRankTakesItsTasksWithIt) {
  const Error error = failure_of(2,
                                 [](Rank& rank) {
                                   if (rank.index() == 0) return;
                                   rank.spawn([&rank] { rank.channel(1).recv(0, ghost(40)); });
                                   rank.spawn([] {});
                                   rank.channel().charge({Work::Kind::compute, 1.0, {}, {}});
                                   simulated_faults(rank)({Fault::Kind::kill, 0, 0.0});
                                 },
                                 {.lanes = 2});
  expect_failure(error, ErrorKind::peer_lost, 1, "rank 1 was killed");
}

TEST(SimFailure, ACrashOfTheSimulationSaysSo) {
  for (const int signal : {SIGKILL, SIGABRT}) {
    const Error error = failure_of(2, [signal](Rank& rank) {
      if (rank.index() == 1) std::raise(signal);
    });
    expect_failure(error, ErrorKind::system, -1,
                   AllOf(HasSubstr(fmt::format("signal {} (", signal)),
                         HasSubstr("process of the simulation")));
  }
}

TEST(SimFailure, TheSimulationEndsWithItsCaller) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t caller = fork();
  if (caller == 0) {
    close(pipe_ends[0]);
    SimWorld(star(1), 1).run([&](Rank&) {
      const char ready = 1;
      if (write(pipe_ends[1], &ready, 1) == 1) pause();
    });
    _exit(0);
  }
  close(pipe_ends[1]);
  char byte = 0;
  ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
  kill(caller, SIGKILL);
  // The end of the stream: nobody holds the other end of the pipe any more.
  pollfd stream{pipe_ends[0], POLLIN, 0};
  constexpr int does_not_hang_milliseconds = 20000;
  ASSERT_EQ(poll(&stream, 1, does_not_hang_milliseconds), 1);
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  waitpid(caller, nullptr, 0);
  close(pipe_ends[0]);
}

TEST(SimFailure, AProgramThatExitsSaysSo) {
  const Error error = failure_of(2, [](Rank& rank) {
    if (rank.index() == 1) _exit(5);
  });
  expect_failure(error, ErrorKind::system, -1, HasSubstr("exit code 5"));
}

TEST(SimFailure, MoreRanksThanHostsAreRefused) {
  EXPECT_THROW(SimWorld(star(4), 5), Error);
  EXPECT_THROW(SimWorld(star(4), 0), Error);
}

TEST(SimFailure, NothingIsPrintedByAFailure) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  failure_of(2, [](Rank& rank) { rank.channel().recv(1 - rank.index(), ghost(1)); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace tutti
