#include "profiles/predict.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "collectives/run.hpp"

namespace tutti {
namespace {

constexpr double alpha = 5e-6, beta = 1e-9, gamma = 2e-9, call_seconds = 3e-7;

// Messages of `message_bytes` take alpha + beta a byte whoever else is busy, reductions gamma.
Profile constant_rates(int ranks, std::size_t buffer_bytes, std::size_t message_bytes) {
  RankProfile world;
  world.ranks = ranks;
  world.call = {call_seconds, call_seconds, call_seconds};
  for (const std::size_t bytes : {std::size_t{1}, message_bytes}) {
    ProfilePoint point{buffer_bytes, bytes};
    const auto length = bytes == 1 ? 0.0 : static_cast<double>(bytes);
    for (Estimate& time : point.times) time.seconds = alpha + beta * length;
    point.time(Curve::sent).seconds = 0.0;
    point.time(Curve::reduced).seconds += gamma * length;
    point.time(Curve::reduced_shared).seconds += gamma * length;
    world.points.push_back(point);
  }
  return {"shm", DType::float32, {}, {}, {world}};
}

GhostCall call_of(Collective collective, const char* algorithm, std::size_t bytes) {
  const Algorithm& found = find_algorithm(collective, algorithm);
  return [&found, bytes](Channel& channel) {
    run(found, channel, Block{ghost_address(), bytes / 4, DType::float32});
  };
}

TEST(Prediction, IsTheClosedFormWhereRatesAreConstant) {
  for (const int ranks : {2, 3, 4, 8}) {
    const std::size_t part = 4096, bytes = part * static_cast<std::size_t>(ranks);
    const double steps = ranks - 1;
    const Profile profile = constant_rates(ranks, bytes, part);
    const double message = alpha + beta * static_cast<double>(part);
    const double ring =
        predicted_seconds(profile, ranks, bytes, 1, call_of(Collective::allreduce, "ring", bytes));
    const double expected =
        call_seconds + 2 * steps * message + steps * gamma * static_cast<double>(part);
    EXPECT_NEAR(ring / expected, 1.0, 1e-9) << ranks;
    const double gather =
        predicted_seconds(profile, ranks, bytes, 5, call_of(Collective::allgather, "ring", bytes));
    EXPECT_NEAR(gather / (call_seconds + steps * message), 1.0, 1e-9) << ranks;
  }
}

TEST(Prediction, ChargesWritingToWhatAnotherRankHasRead) {
  const std::size_t part = 4096, bytes = 2 * part;
  Profile profile = constant_rates(2, bytes, part);
  constexpr double extra = 7e-6;
  profile.ranks[0].points[1].time(Curve::loaded_shared).seconds += extra;
  const auto time = [&](Collective collective) {
    const Profile plain = constant_rates(2, bytes, part);
    const GhostCall call = call_of(collective, "ring", bytes);
    return predicted_seconds(profile, 2, bytes, 1, call) -
           predicted_seconds(plain, 2, bytes, 1, call);
  };
  // The allgather within writes the part that the reduce_scatter has sent.
  EXPECT_NEAR(time(Collective::allreduce), extra, 1e-12);
  EXPECT_NEAR(time(Collective::allgather), 0.0, 1e-12);
  EXPECT_NEAR(time(Collective::reduce_scatter), 0.0, 1e-12);
}

TEST(Prediction, SharesCoresWhereLoadedMessagesTookLonger) {
  const std::size_t part = 1 << 20, bytes = 4 * part;
  Profile profile = constant_rates(4, bytes, part);
  for (const Curve curve : {Curve::loaded, Curve::loaded_shared, Curve::reduced}) {
    profile.ranks[0].points[1].time(curve).seconds *= 2;
  }
  for (const Curve curve : {Curve::loaded, Curve::loaded_shared, Curve::reduced}) {
    profile.ranks[0].points[1].time(curve).seconds -= alpha;
  }
  const double loaded = alpha + 2 * beta * static_cast<double>(part);
  const double ring =
      predicted_seconds(profile, 4, bytes, 1, call_of(Collective::allgather, "ring", bytes));
  EXPECT_NEAR(ring / (call_seconds + 3 * loaded), 1.0, 1e-9);
  const Contention contention = Contention::of(profile.ranks[0], 4, part, bytes);
  EXPECT_EQ(contention.cores, 2);
  EXPECT_NEAR(contention.factor, 1.0, 1e-12);
}

TEST(Ranges, AreASetOfBytes) {
  constexpr std::uintptr_t most = 40;
  std::mt19937 random(1);
  Ranges ranges;
  std::array<bool, most> expected{};
  for (int i = 0; i < 2000; ++i) {
    std::uintptr_t begin = random() % most, end = random() % (most + 1);
    if (begin > end) std::swap(begin, end);
    const bool adds = random() % 2 == 0;
    adds ? ranges.add(begin, end) : ranges.remove(begin, end);
    std::fill(expected.begin() + static_cast<std::ptrdiff_t>(begin),
              expected.begin() + static_cast<std::ptrdiff_t>(end), adds);
    const std::uintptr_t from = random() % most;
    const auto count =
        std::count(expected.begin() + static_cast<std::ptrdiff_t>(from), expected.end(), true);
    ASSERT_EQ(ranges.covered(from, most), static_cast<std::size_t>(count)) << i;
  }
}

}  // namespace
}  // namespace tutti
