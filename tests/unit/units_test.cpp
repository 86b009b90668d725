#include "topologies/units.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "topologies/shape.hpp"

namespace tutti {
namespace {

TEST(Units, BandwidthsAreBytesPerSecond) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("12.5GBps"), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100 Gbps"), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1kBps"), 1e3);
  EXPECT_DOUBLE_EQ(parse_bandwidth("512MiBps"), 512.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(parse_bandwidth("2GiBps"), 2.0 * 1024 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8Kibps"), 1024.0);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1Tbps"), 125e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("3Bps"), 3.0);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1e3MBps"), 1e9);
}

TEST(Units, DurationsAreSeconds) {
  EXPECT_DOUBLE_EQ(parse_duration("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(parse_duration("1.5 ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_duration("250ns"), 250e-9);
  EXPECT_DOUBLE_EQ(parse_duration("0s"), 0.0);
}

TEST(Units, AMistypedUnitIsRefused) {
  for (const char* text :
       {"", " ", "GBps", "5", "5 ", "5gbps", "5GB/s", "5KBps", "-1Bps", "0Bps"}) {
    EXPECT_THROW(parse_bandwidth(text), ShapeError) << text;
  }
  for (const char* text : {"", "us", "5", "5sec", "5 u s", "-1s", "infs"}) {
    EXPECT_THROW(parse_duration(text), ShapeError) << text;
  }
}

TEST(Units, AFactorIsAPercentageOrATimes) {
  EXPECT_DOUBLE_EQ(parse_factor("50%"), 0.5);
  EXPECT_DOUBLE_EQ(parse_factor("0.25x"), 0.25);
  EXPECT_DOUBLE_EQ(parse_factor("3 x"), 3.0);
  for (const char* text : {"", "x", "%", "0%", "-1x", "5", "5y", "1e999x", "5%x"}) {
    EXPECT_THROW(parse_factor(text), ShapeError) << text;
  }
}

TEST(Units, ADurationIsRoundedOnce) {
  EXPECT_EQ(parse_duration("5us"), 5e-6);
  EXPECT_EQ(parse_duration("2.5us"), 2.5e-6);
  EXPECT_EQ(parse_duration("3ns"), 3e-9);
}

TEST(Units, FormatsAreShort) {
  EXPECT_EQ(format_bandwidth(12.5e9), "12.5GBps");
  EXPECT_EQ(format_bandwidth(1e12), "1TBps");
  EXPECT_EQ(format_bandwidth(450e9), "450GBps");
  EXPECT_EQ(format_bandwidth(0.5), "0.5Bps");
  EXPECT_EQ(format_bandwidth(1234567.0), "1.234567MBps");
  EXPECT_EQ(format_duration(5e-6), "5us");
  EXPECT_EQ(format_duration(0.0), "0s");
  EXPECT_EQ(format_duration(1.5e-3), "1.5ms");
  EXPECT_EQ(format_duration(250e-9), "250ns");
  EXPECT_EQ(format_duration(90.0), "90s");
}

TEST(Units, WhatIsFormattedParsesToTheSameValue) {
  constexpr unsigned seed = 4;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-12.0, 15.0);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    EXPECT_EQ(parse_bandwidth(format_bandwidth(value)), value) << format_bandwidth(value);
    EXPECT_EQ(parse_duration(format_duration(value)), value) << format_duration(value);
  }
}

}  // namespace
}  // namespace tutti
