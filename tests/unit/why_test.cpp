#include "experiments/why.hpp"

#include <gmock/gmock.h>

#include "topologies/load.hpp"

namespace tutti {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double us = 1e-6;

// Two leaves of two hosts, one spine; 1 GB/s and 1 us everywhere, so that 1,000 bytes take a us.
Shape two_leaves() {
  return parse_shape(R"(
shape: leaf_spine
leaves: 2
spines: 1
hosts_per_leaf: 2
links:
  host: {bandwidth: 1GBps, latency: 1us}
  spine: {bandwidth: 1GBps, latency: 1us}
)",
                     "two leaves");
}

MessageRecord message(int from, int to, std::size_t bytes, double send, double receive,
                      double end) {
  MessageRecord record;
  record.from = from;
  record.to = to;
  record.bytes = bytes;
  record.send_posted_seconds = send;
  record.receive_posted_seconds = receive;
  record.begin_seconds = std::max(send, receive);
  record.end_seconds = end;
  return record;
}

BlockRecord block(int rank, std::size_t index, double begin, double end, bool is_send = false) {
  BlockRecord record;
  record.rank = rank;
  record.message = index;
  record.begin_seconds = begin;
  record.end_seconds = end;
  record.is_send = is_send;
  return record;
}

Why why_of(const Shape& shape, const Observation& observation, const std::vector<double>& ends,
           const std::vector<double>& starts = {}, bool reduces = false) {
  return why({.shape = shape,
              .observation = observation,
              .start_seconds = starts,
              .end_seconds = ends,
              .reduces = reduces});
}

// Rank 0 sends 10,000 bytes to rank 2, over four links: 4 us and 10 us.
TEST(Why, ALoneMessageIsLatencyAndTransfer) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(0, 2, 10'000, 0, 0, 14 * us)};
  observation.blocks = {block(2, 0, 0, 14 * us), block(0, 0, 0, 14 * us, true)};
  const Why found = why_of(shape, observation, {14 * us, 0, 14 * us, 0});
  EXPECT_NEAR(found.time.latency_seconds, 4 * us, 1e-12);
  EXPECT_NEAR(found.time.transfer_seconds, 10 * us, 1e-12);
  EXPECT_NEAR(found.time.contention_seconds, 0.0, 1e-12);
  EXPECT_EQ(found.time.limit(), "bandwidth-bound");
  ASSERT_EQ(found.path.size(), 1u);
  EXPECT_EQ(found.path[0].rank, 0);
  EXPECT_EQ(found.path[0].peer, 2);
  ASSERT_EQ(found.busiest.size(), 4u);
  EXPECT_NEAR(*found.busiest[0].utilisation, 10.0 / 14.0, 1e-9);
  EXPECT_EQ(found.busiest[0].most_flows, 1);
  EXPECT_NEAR(found.wait_seconds[2], 14 * us, 1e-12);
  EXPECT_EQ(found.wait_seconds[1], 0.0);
  EXPECT_THAT(found.hint, HasSubstr("one flow at a time"));
}

// Hosts 0 and 1 send to hosts 2 and 3 at once: the uplink of leaf 0 is shared.
TEST(Why, TwoFlowsOverOneUplinkAreContentionThatTheHintNames) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(0, 2, 10'000, 0, 0, 24 * us),
                          message(1, 3, 10'000, 0, 0, 24 * us)};
  observation.blocks = {block(2, 0, 0, 24 * us), block(3, 1, 0, 24 * us)};
  const Why found = why_of(shape, observation, {0, 0, 24 * us, 24 * us});
  EXPECT_NEAR(found.time.contention_seconds, 10 * us, 1e-12);
  EXPECT_EQ(found.time.limit(), "bandwidth-bound");
  EXPECT_EQ(found.busiest[0].most_flows, 2);
  EXPECT_EQ(shape.links[static_cast<std::size_t>(found.busiest[0].link)].link_class, "spine");
  for (const BusyLink& link : found.busiest) EXPECT_LE(*link.utilisation, 1.0);
  EXPECT_THAT(found.hint, HasSubstr("the uplink leaf0-spine0 (spine) of leaf0 is shared by 2"));
  EXPECT_THAT(found.classes[0].link_class, "host");
  EXPECT_EQ(found.classes[0].bytes, 40'000.0);
  EXPECT_EQ(found.classes[1].bytes, 40'000.0);
  ASSERT_FALSE(found.culprits.empty());
  EXPECT_EQ(found.culprits[0], (Culprit{"link", "leaf0-spine0", found.culprits[0].seconds}));
}

// 0 sends to 1, which sends to 2 (3 us each way: 2 us and 1 us within a leaf, 4 us and 1 us
// across).
TEST(Why, TheCriticalPathGoesBackFromRankToRank) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(0, 1, 1'000, 0, 0, 3 * us),
                          message(1, 2, 1'000, 3 * us, 0, 8 * us)};
  observation.blocks = {block(0, 0, 0, 3 * us, true), block(1, 0, 0, 3 * us),
                        block(1, 1, 3 * us, 8 * us, true), block(2, 1, 0, 8 * us)};
  const Why found = why_of(shape, observation, {3 * us, 8 * us, 8 * us, 0});
  ASSERT_EQ(found.path.size(), 2u);
  EXPECT_EQ(found.path[0].rank, 0);
  EXPECT_EQ(found.path[1].rank, 1);
  EXPECT_NEAR(found.time.latency_seconds, 6 * us, 1e-12);
  EXPECT_EQ(found.time.limit(), "latency-bound");
  EXPECT_THAT(found.hint, HasSubstr("2 messages in a row"));
}

TEST(Why, ALateRankIsWhatOthersWaitFor) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(1, 0, 1'000, 50 * us, 0, 53 * us)};
  observation.blocks = {block(0, 0, 0, 53 * us)};
  const Why found = why_of(shape, observation, {53 * us, 53 * us, 0, 0}, {0, 50 * us});
  EXPECT_EQ(found.time.limit(), "straggler-bound");
  EXPECT_NEAR(found.time.late_start_seconds, 50 * us, 1e-12);
  EXPECT_EQ(found.path.front().kind, PathPiece::Kind::late_start);
  EXPECT_EQ(found.culprits[0].kind, "rank");
  EXPECT_EQ(found.culprits[0].name, "1");
  EXPECT_THAT(found.hint, HasSubstr("rank 1 begins 50.00 us late"));
}

TEST(Why, WorkAfterAMessageIsReductionBeyondTheOverheads) {
  Shape shape = two_leaves();
  for (Host& host : shape.hosts) {
    host.reduction_bytes_per_second = 100e6;
    host.receive_overhead_seconds = 2 * us;
  }
  Observation observation;
  observation.messages = {message(0, 1, 1'000, 0, 0, 3 * us)};
  observation.blocks = {block(1, 0, 0, 3 * us)};
  const std::vector<double> ends = {3 * us, 15 * us, 0, 0};  // 2 us of overhead, 10 of reduction.
  const Why found = why_of(shape, observation, ends, {}, true);
  EXPECT_NEAR(found.time.reduction_seconds, 10 * us, 1e-12);
  EXPECT_NEAR(found.time.overhead_seconds, 2 * us, 1e-12);
  EXPECT_EQ(found.time.limit(), "reduction-bound");
  EXPECT_THAT(found.hint, HasSubstr("most on rank 1"));
  const Why other = why_of(shape, observation, ends);  // Of a collective that does not reduce.
  EXPECT_NEAR(other.time.overhead_seconds, 12 * us, 1e-12);
}

TEST(Why, TheTimesOfThePathAddUpToTheRun) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(0, 1, 1'000, 5 * us, 2 * us, 9 * us),
                          message(2, 1, 4'000, 10 * us, 12 * us, 25 * us)};
  observation.blocks = {block(1, 0, 2 * us, 9 * us), block(1, 1, 12 * us, 25 * us)};
  const Why found = why_of(shape, observation, {9 * us, 26 * us, 25 * us, 0}, {4 * us});
  const PathTime& time = found.time;
  EXPECT_NEAR(time.latency_seconds + time.transfer_seconds + time.contention_seconds +
                  time.reduction_seconds + time.overhead_seconds + time.late_start_seconds,
              26 * us, 1e-12);
  for (std::size_t i = 1; i < found.path.size(); ++i) {
    EXPECT_NEAR(found.path[i].begin_seconds, found.path[i - 1].end_seconds, 1e-12) << i;
  }
  EXPECT_EQ(found.path.front().kind, PathPiece::Kind::late_start);
}

TEST(Why, WhereLinksAreNotSharedThereIsNoUtilisation) {
  const Shape shape = two_leaves();
  Observation observation;
  observation.messages = {message(0, 2, 10'000, 0, 0, 14 * us),
                          message(1, 2, 10'000, 0, 0, 14 * us)};
  observation.blocks = {block(2, 0, 0, 14 * us)};
  const std::vector<double> starts, ends = {14 * us, 14 * us, 14 * us, 0};
  const Why found = why({.shape = shape,
                         .observation = observation,
                         .start_seconds = starts,
                         .end_seconds = ends,
                         .links_are_shared = false});
  EXPECT_FALSE(found.busiest[0].utilisation.has_value());
}

TEST(Why, ARunInWhichNothingHappensHasNoLimit) {
  const Shape shape = two_leaves();
  const Why found = why_of(shape, {}, {0, 0, 0, 0});
  EXPECT_EQ(found.time.limit(), "");
  EXPECT_EQ(found.hint, "");
  EXPECT_TRUE(found.path.empty());
  EXPECT_TRUE(found.busiest.empty());
}

}  // namespace
}  // namespace tutti
