// Ranks over TCP: started by one process, or apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collectives/ring.hpp"
#include "exec/fork_world.hpp"
#include "exec/joined_world.hpp"
#include "exec/socket.hpp"
#include "exec/tcp_rendezvous.hpp"
#include "process/shared_memory.hpp"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::usage, "nothing was thrown"};
}

ForkOptions over_tcp(double timeout_seconds = 30.0) {
  return {.timeout_seconds = timeout_seconds, .wire = Wire::tcp};
}

// A program that sums up again and again, of `count` floats.
Program allreduce_for_ever(World& world, std::size_t count) {
  std::vector<Block> data;
  for (int i = 0; i < world.size(); ++i) {
    data.push_back(world.allocate_block(count, DType::float32));
  }
  return [data](Rank& rank) {
    for (;;) {
      allreduce_ring(rank.channel(), data[static_cast<std::size_t>(rank.index())], Op::sum);
    }
  };
}

TEST(TcpForkWorld, SumsOverIPv6Too) {
  ForkOptions options = over_tcp();
  options.address = "::1";
  ForkWorld world(3, options);
  const Block data = world.allocate_block(3, DType::int32);
  try {
    world.run([&](Rank& rank) {
      std::int32_t value = rank.index() + 1;
      allreduce_ring(rank.channel(), {reinterpret_cast<std::byte*>(&value), 1, DType::int32},
                     Op::sum);
      reinterpret_cast<std::int32_t*>(data.data)[rank.index()] = value;
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::system) throw;
    GTEST_SKIP() << error.what();
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reinterpret_cast<std::int32_t*>(data.data)[i], 6);
}

TEST(TcpForkWorld, APortInUseIsAnErrorThatNamesAddressAndPort) {
  const Descriptor taken = listen_at({"127.0.0.1", 0});
  ForkOptions options = over_tcp();
  options.port = local_member(taken).port;
  ForkWorld world(2, options);
  const Error error = error_of([&] { world.run([](Rank&) {}); });
  EXPECT_EQ(error.kind(), ErrorKind::system);
  EXPECT_THAT(error.what(), AllOf(HasSubstr(fmt::format("127.0.0.1:{}", options.port)),
                                  HasSubstr("Address already in use")));
}

TEST(TcpForkWorld, AKilledRankIsNamedWithItsSignalAndWhereTheOthersWere) {
  ForkWorld world(4, over_tcp());
  const Program program = allreduce_for_ever(world, 100'000);
  const Error error = error_of([&] {
    world.run([&](Rank& rank) {
      if (rank.index() == 1) {
        const pid_t victim = getpid();
        rank.spawn([victim] {
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          kill(victim, SIGKILL);
        });
      }
      program(rank);
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
  EXPECT_EQ(error.rank(), 1);
  EXPECT_THAT(
      error.what(),
      AllOf(HasSubstr("rank 1 was killed by signal 9"),
            ContainsRegex("rank [023] was waiting .* bytes .* at step [0-9] of 6 of call #")));
}

TEST(TcpForkWorld, ARankThatStopsIsNamedAtTheEndOfTheChainOfWaits) {
  ForkWorld world(3, over_tcp(1.0));
  const Program program = allreduce_for_ever(world, 1000);
  const Error error = error_of([&] {
    world.run([&](Rank& rank) {
      if (rank.index() == 1) raise(SIGSTOP);
      program(rank);
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::timeout);
  EXPECT_THAT(error.what(), HasSubstr("rank 1"));
}

TEST(TcpForkWorld, ARankWithOneCallMoreLearnsAtOnceThatTheOthersHaveLeft) {
  ForkWorld world(2, over_tcp(3600.0));
  const Error error = error_of([&] {
    world.run([&](Rank& rank) {
      for (int call = 0; call < 10 + rank.index(); ++call) {
        allreduce_ring(rank.channel(), {nullptr, 100, DType::float32}, Op::sum);
      }
    });
  });
  EXPECT_EQ(error.kind(), ErrorKind::peer_lost);
  EXPECT_THAT(error.what(), HasSubstr("but rank 0 left after call #10"));
}

std::uint16_t free_port() {
  return local_member(listen_at({"127.0.0.1", 0})).port;
}

// What one process of a joined world has to say, in memory that the test sees.
struct Report {
  char text[500] = {};
  int warnings = 0;
  char warning[300] = {};
};

// Processes that know nothing of each other but where rank 0 is.
class Joined : public ::testing::Test {
 protected:
  static constexpr int most_processes = 8;

  using Body = std::function<std::string(TcpTransport& transport)>;

  // Starts a process; `body`'s text, or that of its error, is its report.
  void start(Rendezvous rendezvous, const Body& body) {
    const std::size_t index = pids_.size();
    Report& report = reports()[index];
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      rendezvous.warn = [&](const std::string& text) {
        ++report.warnings;
        std::snprintf(report.warning, sizeof(report.warning), "%s", text.c_str());
      };
      try {
        const auto transport = join_tcp(rendezvous);
        std::snprintf(report.text, sizeof(report.text), "%s", body(*transport).c_str());
      } catch (const std::exception& error) {
        std::snprintf(report.text, sizeof(report.text), "error: %s", error.what());
      }
      _exit(0);
    }
    pids_.push_back(pid);
  }

  Rendezvous rendezvous(int rank, int size) const {
    Rendezvous result;
    result.rank = rank;
    result.size = size;
    result.master = {"127.0.0.1", port_};
    result.timeout_seconds = 20.0;
    return result;
  }

  // Waits for all.
  void TearDown() override {
    for (const pid_t pid : pids_) {
      if (pid > 0) kill(pid, SIGKILL);
    }
    wait();
  }
  void wait() {
    for (pid_t& pid : pids_) {
      if (pid > 0) waitpid(pid, nullptr, 0);
      pid = -1;
    }
  }
  Report* reports() const { return reinterpret_cast<Report*>(memory_.data()); }
  pid_t pid(std::size_t index) const { return pids_[index]; }

  const std::uint16_t port_ = free_port();

 private:
  SharedMapping memory_{most_processes * sizeof(Report), SharedMapping::Pages::reserved};
  std::vector<pid_t> pids_;
};

std::string sum_of_ranks(TcpTransport& transport) {
  JoinedWorld world(transport, transport.size());
  const Block sums = world.allocate_block(static_cast<std::size_t>(transport.size()), DType::int32);
  auto* const values = reinterpret_cast<std::int32_t*>(sums.data);
  for (int run = 0; run < 2; ++run) {
    world.run([&](Rank& rank) {
      std::int32_t& own = values[rank.index()];
      own = rank.index() + 1;
      allreduce_ring(rank.channel(), {reinterpret_cast<std::byte*>(&own), 1, DType::int32},
                     Op::sum);
    });
  }
  std::string text = "sums";
  for (int rank = 0; rank < transport.size(); ++rank) {
    world.fetch(rank, reinterpret_cast<std::byte*>(values + rank), sizeof(std::int32_t));
    text += fmt::format(" {}", values[rank]);
  }
  return text;
}

TEST_F(Joined, RanksStartedApartInAnyOrderSumAndFetchResults) {
  for (const int rank : {2, 0, 3, 1}) start(rendezvous(rank, 4), sum_of_ranks);
  wait();
  for (int i = 0; i < 4; ++i) EXPECT_STREQ(reports()[i].text, "sums 10 10 10 10");
}

TEST_F(Joined, OneRankAloneIsAWorld) {
  start(rendezvous(0, 1), sum_of_ranks);
  wait();
  EXPECT_STREQ(reports()[0].text, "sums 1");
}

TEST_F(Joined, WrongPeersAreRefusedOnBothSidesAndTheRightOnesGoOn) {
  start(rendezvous(0, 3), sum_of_ranks);
  start(rendezvous(1, 3), sum_of_ranks);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  start(rendezvous(1, 3), sum_of_ranks);
  start(rendezvous(2, 4), sum_of_ranks);
  Rendezvous other = rendezvous(2, 3);
  other.world = "another";
  start(other, sum_of_ranks);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Descriptor stranger = start_connecting({"127.0.0.1", port_});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_GT(send(stranger.value(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  start(rendezvous(2, 3), sum_of_ranks);
  wait();
  EXPECT_STREQ(reports()[0].text, "sums 6 6 6");
  EXPECT_STREQ(reports()[1].text, "sums 6 6 6");
  EXPECT_STREQ(reports()[5].text, "sums 6 6 6");
  EXPECT_THAT(reports()[2].text, HasSubstr("rank 1 has joined already, from 127.0.0.1:"));
  EXPECT_THAT(reports()[3].text, HasSubstr("it is rank 2 of a world of 4, expected 3"));
  EXPECT_THAT(reports()[4].text, HasSubstr("it is of another world"));
  EXPECT_EQ(reports()[0].warnings, 4);
  EXPECT_THAT(reports()[0].warning, HasSubstr("does not speak tutti's protocol"));
}

TEST_F(Joined, WhoIsMissingIsNamedByThoseWhoWait) {
  Rendezvous impatient = rendezvous(0, 3);
  impatient.timeout_seconds = 0.5;
  start(impatient, sum_of_ranks);
  start(rendezvous(2, 3), sum_of_ranks);
  Rendezvous lonely = rendezvous(1, 2);
  lonely.master.port = free_port();
  lonely.timeout_seconds = 0.3;
  start(lonely, sum_of_ranks);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  kill(pid(1), SIGKILL);
  wait();
  EXPECT_THAT(reports()[0].text, HasSubstr("for 1 of 3 ranks to join: rank 1"));
  EXPECT_THAT(reports()[2].text, AllOf(HasSubstr("rank 1 waited 0.300 s for rank 0 at 127.0.0.1:"),
                                       HasSubstr("Connection refused")));
}

TEST_F(Joined, AnOccupiedMastersPortIsNamed) {
  const Descriptor taken = listen_at({"", port_});
  start(rendezvous(0, 2), sum_of_ranks);
  wait();
  EXPECT_THAT(reports()[0].text,
              AllOf(HasSubstr(std::to_string(port_)), HasSubstr("Address already in use")));
}

// The texts of the same failing run on three ranks, after which they run again.
TEST_F(Joined, AllThrowTheFirstFailureAndCanRunAgain) {
  const auto fail = [](TcpTransport& transport) -> std::string {
    std::string text;
    {
      JoinedWorld world(transport, transport.size());
      text = error_of([&] {
               world.run([](Rank& rank) {
                 if (rank.index() == 1) throw Error(ErrorKind::system, "the disk is full");
                 rank.channel().recv(1, Block{nullptr, 1, DType::int8});
               });
             }).what();
    }
    return text + ", " + sum_of_ranks(transport);
  };
  for (int rank = 0; rank < 3; ++rank) start(rendezvous(rank, 3), fail);
  wait();
  for (int i = 0; i < 3; ++i) EXPECT_STREQ(reports()[i].text, "the disk is full, sums 6 6 6");
}

TEST_F(Joined, AMessageThatNobodyReceivesIsAnErrorOnAllRanks) {
  const auto lose = [](TcpTransport& transport) -> std::string {
    JoinedWorld world(transport, transport.size());
    return error_of([&] {
             world.run([](Rank& rank) {
               if (rank.index() == 1) rank.channel().send(0, Block{nullptr, 3, DType::float64});
             });
           })
        .what();
  };
  for (int rank = 0; rank < 2; ++rank) start(rendezvous(rank, 2), lose);
  wait();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(reports()[i].text, HasSubstr("rank 1 sent 24 bytes (3 float64) to rank 0 that it"));
  }
}

TEST_F(Joined, AKilledRankIsNoticedAtOnceByAllWithWhereTheyWere) {
  const auto run = [](TcpTransport& transport) -> std::string {
    JoinedWorld world(transport, transport.size(), {.timeout_seconds = 3600.0});
    const Error error = error_of([&] {
      world.run([](Rank& rank) {
        for (int call = 0;; ++call) {
          if (rank.index() == 2 && call == 5) raise(SIGKILL);
          allreduce_ring(rank.channel(), {nullptr, 1000, DType::float32}, Op::sum);
        }
      });
    });
    return fmt::format("{} {}: {}", name_of(error.kind()), error.rank(), error.what());
  };
  for (int rank = 0; rank < 4; ++rank) start(rendezvous(rank, 4), run);
  wait();
  for (const int i : {0, 1, 3}) {
    EXPECT_THAT(reports()[i].text,
                AllOf(HasSubstr("peer_lost 2: rank 2 ("), HasSubstr("closed its connection"),
                      HasSubstr("allreduce_ring"), HasSubstr("of call #6")));
  }
}

}  // namespace
}  // namespace tutti
