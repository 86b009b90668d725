#include "collectives/plan.hpp"

#include <gmock/gmock.h>

#include <string>

#include "collectives/plan_check.hpp"
#include "collectives/ring.hpp"
#include "collectives/tree.hpp"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Block ghost(std::size_t count, DType dtype = DType::float32) {
  return {nullptr, count, dtype};
}

// The message of the Error that checking the plan throws, "kind: text"; "" if it is sound.
std::string fault_of(const Plan& plan) {
  try {
    replay(plan, CostModel{});
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + ": " + error.what();
  }
  return "";
}

TEST(Plan, TwoRanksThatBothSendFirstAreNoDeadlock) {
  EXPECT_EQ(fault_of(record(2,
                            [](Channel& channel) {
                              channel.sendrecv(1 - channel.rank(), ghost(8), 1 - channel.rank(),
                                               ghost(8));
                            })),
            "");
}

TEST(Plan, TwoRanksThatBothWaitForTheirSendFirstAreADeadlockUnderRendezvous) {
  const std::string fault = fault_of(record(2, [](Channel& channel) {
    channel.send(1 - channel.rank(), ghost(8));
    channel.recv(1 - channel.rank(), ghost(8));
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("deadlock"), HasSubstr("rank 0 waits to send to rank 1"),
                           HasSubstr("rank 1 waits to send to rank 0"), HasSubstr("32 bytes")));
}

TEST(Plan, ASendWithoutAReceiveNamesBothRanks) {
  const std::string fault = fault_of(record(3, [](Channel& channel) {
    if (channel.rank() == 2) channel.send(1, ghost(5));
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("mismatch"), HasSubstr("rank 2 sends rank 1 20 bytes"),
                           HasSubstr("never receives")));
}

TEST(Plan, DifferentSizesNameBothRanksBothSizesAndTheStep) {
  const std::string fault = fault_of(record(2, [](Channel& channel) {
    allreduce_ring(channel, ghost(channel.rank() == 0 ? 256'000 : 512'000), Op::sum);
  }));
  EXPECT_THAT(fault, AllOf(HasSubstr("rank 1"), HasSubstr("rank 0"), HasSubstr("256000 float32"),
                           HasSubstr("512000 float32"), HasSubstr("step 1")));
}

TEST(Plan, DifferentRootsAreAMismatch) {
  const std::string fault = fault_of(
      record(2, [](Channel& channel) { broadcast_binomial(channel, ghost(1), channel.rank()); }));
  EXPECT_THAT(fault, HasSubstr("mismatch"));
}

TEST(Plan, ReplayCountsLatencyBandwidthAndReduction) {
  const Plan plan = record(2, [](Channel& channel) {
    if (channel.rank() == 0) {
      channel.charge(Work{Work::Kind::compute, 100.0, {}, {}, Op::replace});
      channel.send(1, ghost(10, DType::int8));
    } else {
      channel.recv(0, ghost(10, DType::int8), Op::sum);
    }
  });
  const std::vector<double> ends = replay(plan, CostModel{1.0, 2.0, 4.0});
  EXPECT_DOUBLE_EQ(ends[0], 100.0 + 1.0 + 20.0);
  EXPECT_DOUBLE_EQ(ends[1], 100.0 + 1.0 + 20.0 + 40.0);
}

TEST(Plan, OverheadsKeepARankBusyWhileLatenciesPassTogether) {
  const Plan plan = record(2, [](Channel& channel) {
    const Request requests[] = {
        channel.rank() == 0 ? channel.isend(1, ghost(1)) : channel.irecv(0, ghost(1)),
        channel.rank() == 0 ? channel.isend(1, ghost(1)) : channel.irecv(0, ghost(1))};
    for (const Request request : requests) channel.wait(request);
  });
  const Timeline result = timeline(
      plan, {.alpha_seconds = 10.0, .send_overhead_seconds = 1.0, .receive_overhead_seconds = 3.0});
  EXPECT_EQ(result.begin_seconds, (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(result.end_seconds, (std::vector<double>{11.0, 12.0}));
  EXPECT_EQ(result.rank_seconds, (std::vector<double>{12.0, 11.0 + 3.0 + 3.0}));
}

TEST(Plan, AddressesAreOffsetsInTheBuffersOfTheWorld) {
  PlanWorld world(2);
  world.allocate(64);
  const Block data = world.allocate_block(10, DType::float32);
  world.run([data](Rank& rank) { allreduce_ring(rank.channel(), data, Op::sum); });
  const PlanEvent& first = world.plan().programs[0].events.front();
  EXPECT_EQ(first.kind, PlanEvent::Kind::send);
  EXPECT_EQ(first.address, (PlanAddress{1, 20}));
}

TEST(Plan, OpenRequestsAtTheEndOfAProgramAreAProgrammerError) {
  PlanWorld world(2);
  EXPECT_THROW(world.run([](Rank& rank) { rank.channel().isend(1 - rank.index(), ghost(1)); }),
               ContractError);
}

TEST(Plan, WaitingTwiceIsAProgrammerError) {
  EXPECT_THROW(record(2,
                      [](Channel& channel) {
                        const Request request = channel.isend(1 - channel.rank(), ghost(1));
                        channel.wait(request);
                        channel.wait(request);
                      }),
               ContractError);
}

}  // namespace
}  // namespace tutti
