#include "topologies/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace tutti {
namespace {

Star eight() {
  return {8, 12.5e9, 5e-6, std::nullopt};
}

TEST(Shape, EveryRouteOfAStarHasTheFiguresFromHostToHost) {
  const Shape shape = build_star(eight());
  ASSERT_EQ(shape.size(), 8);
  for (int from = 0; from < shape.size(); ++from) {
    for (int to = 0; to < shape.size(); ++to) {
      if (from == to) continue;
      EXPECT_DOUBLE_EQ(shape.latency_seconds(from, to), 5e-6);
      EXPECT_DOUBLE_EQ(shape.bandwidth_bytes_per_second(from, to), 12.5e9);
    }
  }
}

TEST(Shape, AStarIsFullDuplex) {
  const Shape shape = build_star(eight());
  const Route forth = shape.route(2, 5), back = shape.route(5, 2);
  for (const int link : forth) EXPECT_EQ(std::count(back.begin(), back.end(), link), 0);
}

TEST(Shape, FlowsToOneHostShareOnlyItsOwnCable) {
  const Shape shape = build_star(eight());
  EXPECT_EQ(shape.route(1, 0).back(), shape.route(2, 0).back());
  EXPECT_NE(shape.route(1, 0).front(), shape.route(2, 0).front());
}

TEST(Shape, TheNameTellsWhatTheStarIsMadeOf) {
  Star star = eight();
  EXPECT_EQ(build_star(star).name, "star(8, 12.5 GB/s, 5 us)");
  star.reduction_bytes_per_second = 1e10;
  EXPECT_EQ(build_star(star).name, "star(8, 12.5 GB/s, 5 us, reducing 10 GB/s)");
}

TEST(Shape, TheLargestStarNeedsNoTableOfRoutes) {
  Star star = eight();
  star.hosts = maximum_hosts;
  const Shape shape = build_star(star);
  EXPECT_EQ(shape.route(0, maximum_hosts - 1), (Route{0, 2 * maximum_hosts - 1}));
}

TEST(Shape, AStarThatCannotBeIsRefused) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  for (const int hosts : {-1, 0, maximum_hosts + 1}) {
    Star star = eight();
    star.hosts = hosts;
    EXPECT_THROW(build_star(star), ShapeError) << hosts;
  }
  for (const double value : {-1.0, 0.0, infinite, std::numeric_limits<double>::quiet_NaN()}) {
    Star slow = eight(), reducing = eight();
    slow.bandwidth_bytes_per_second = value;
    reducing.reduction_bytes_per_second = value;
    EXPECT_THROW(build_star(slow), ShapeError) << value;
    EXPECT_THROW(build_star(reducing), ShapeError) << value;
  }
  Star star = eight();
  star.latency_seconds = -1e-9;
  EXPECT_THROW(build_star(star), ShapeError);
}

}  // namespace
}  // namespace tutti
