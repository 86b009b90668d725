// Logs as the benchmarks print them, shortened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/error.hpp"
#include "profiles/log_fit.hpp"
#include "profiles/log_import.hpp"
#include "profiles/log_validation.hpp"

namespace tutti {
namespace {

using ::testing::HasSubstr;

constexpr auto nccl_text = R"(# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096
#  Rank  0 Group  0 Pid   1 on   node-a device  0 [0x07] NVIDIA
node-a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring
#  Rank  1 Group  0 Pid   2 on   node-b device  0 [0x07] NVIDIA
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
#  (B) (elements)             (us) (GB/s) (GB/s)       (us) (GB/s) (GB/s)
  1000000 250000 float sum -1 100.0 10.00 10.00 0 125.0 8.00 8.00 N/A
node-a:1:1 [0] NCCL INFO comm 0x1 rank 0
  2000000 500000 float sum -1 400.0 10.00 10.00 0 N/A N/A N/A N/A
# Avg bus bandwidth    : 9.0
)";

TEST(LogImport, NcclTestsTextHasTwoHalvesAndANumberOfRanks) {
  const SampleSet set = import_log(nccl_text, "nccl.txt");
  EXPECT_EQ(set.format, "nccl-tests text");
  ASSERT_EQ(set.samples.size(), 3U);
  const Sample& first = set.samples[0];
  EXPECT_EQ(first.bytes, 1000000U);
  EXPECT_DOUBLE_EQ(first.seconds, 100e-6);
  EXPECT_EQ(first.series.collective, "allreduce");
  EXPECT_EQ(first.series.algorithm, "ring");
  EXPECT_EQ(first.series.ranks, 2);
  EXPECT_EQ(first.series.nodes, 2);
  EXPECT_EQ(first.line, 7);
  EXPECT_TRUE(set.samples[1].series.in_place);
  EXPECT_DOUBLE_EQ(set.samples[1].seconds, 125e-6);
}

TEST(LogImport, ABandwidthThatContradictsItsTimeIsSuspicious) {
  const SampleSet set = import_log(nccl_text, "nccl.txt");
  int found = 0;
  for (const ImportNote& note : set.notes) {
    found += note.kind == ImportNote::Kind::suspicious && note.line == 9;
  }
  EXPECT_EQ(found, 1);
}

TEST(LogImport, NcclTestsJsonNamesItsProgramAndItsDevices) {
  const SampleSet set = import_log(
      R"({"version":2,"args":["./build/all_gather_perf","-J"],"nccl_version":22700,
          "config":{"devices":[{"rank":0,"hostname":"a"},{"rank":1,"hostname":"a"}]},
          "results":[{"size":1024,"count":256,"type":"float","redop":"none","root":"-1",
          "out_of_place":{"time":10.5,"alg_bw":0.0975,"bus_bw":0.05,"nwrong":0.0},
          "in_place":null}]})",
      "run.json");
  ASSERT_EQ(set.samples.size(), 1U);
  EXPECT_EQ(set.samples[0].series.collective, "allgather");
  EXPECT_EQ(set.samples[0].series.ranks, 2);
  EXPECT_EQ(set.samples[0].series.nodes, 1);
  EXPECT_DOUBLE_EQ(set.samples[0].seconds, 10.5e-6);
}

TEST(LogImport, OsuAllgatherCountsOneRanksPart) {
  constexpr auto text =
      "# OSU MPI Allgather Latency Test v7.1\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "1024                   10.00              8.00             12.00        1000\n";
  const SampleSet set = import_log(text, "osu.txt", {.ranks = 4, .collective = ""});
  ASSERT_EQ(set.samples.size(), 3U);
  EXPECT_EQ(set.samples[0].bytes, 4096U);
  EXPECT_EQ(set.samples[0].statistic, Statistic::mean);
  EXPECT_DOUBLE_EQ(set.samples[2].seconds, 12e-6);
  try {
    import_log(text, "osu.txt");
    FAIL() << "the number of ranks is needed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_THAT(error.what(), HasSubstr("osu.txt:3: the sizes of allgather"));
  }
}

TEST(LogImport, IntelMpiBenchmarksHaveSeveralTestsInAFile) {
  const SampleSet set = import_log(
      "# Benchmarking Allreduce \n# #processes = 4 \n"
      "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
      "         1024         1000         1.00         3.00         2.00\n"
      "# Benchmarking Allgather \n# #processes = 2 \n"
      "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
      "         1024         1000         1.00         3.00         2.00\n",
      "imb.txt");
  ASSERT_EQ(set.samples.size(), 6U);
  EXPECT_EQ(set.samples[0].series.ranks, 4);
  EXPECT_EQ(set.samples[0].statistic, Statistic::min);
  EXPECT_EQ(set.samples[5].series.collective, "allgather");
  EXPECT_EQ(set.samples[5].bytes, 2048U);
}

TEST(LogImport, GlooNamesItsAlgorithm) {
  const SampleSet set = import_log(
      "Algorithm:   allreduce_ring_chunked\nOptions:     processes=2, inputs=1\n\n"
      "   size (B)   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples\n"
      "       400        100         10         20         30         40        0.01        100\n",
      "gloo.txt");
  ASSERT_EQ(set.samples.size(), 4U);
  EXPECT_EQ(set.samples[1].series.algorithm, "ring_chunked");
  EXPECT_EQ(set.samples[1].series.ranks, 2);
  EXPECT_EQ(set.samples[1].statistic, Statistic::median);
}

TEST(LogImport, OurOwnRowsHaveMeanMedianAndTail) {
  const SampleSet set =
      import_log(R"({"collective":"allreduce","algo":"ring","ranks":4,"bytes":1024,)"
                 R"("dtype":"float32","op":"sum",)"
                 R"("time_us":10.0,"p50_us":9.0,"p99_us":20.0,"transport":"shm"})"
                 "\n",
                 "rows.jsonl");
  ASSERT_EQ(set.samples.size(), 3U);
  const std::vector<MeasuredCurve> curves = curves_of(set);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].statistic, Statistic::median);
  EXPECT_DOUBLE_EQ(curves[0].seconds[0], 9e-6);
}

TEST(LogImport, AWideCsvHasAColumnForEachAlgorithm) {
  const SampleSet set = import_log(
      "# 128 ranks = 4 nodes x 32 ppn\nsize_bytes,ucc_ring_us,ompi_tuned_us\n"
      "1048576,2287.61,3710.72\n2097152,2656.15,\n",
      "allreduce.csv");
  ASSERT_EQ(set.samples.size(), 3U);
  EXPECT_EQ(set.samples[0].series.algorithm, "ucc_ring");
  EXPECT_EQ(set.samples[0].series.ranks, 128);
  EXPECT_EQ(set.samples[0].series.collective, "allreduce");
}

TEST(LogImport, WhatIsNoNumberIsRefusedWithItsPlace) {
  try {
    import_log("size_bytes,time_us\n1024,1.5\n2048,fast\n", "a.csv");
    FAIL() << "'fast' is no time";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.csv:3:6: found 'fast', expected a time"));
  }
  EXPECT_THROW(import_log("hello\n", "a.txt"), Error);
  EXPECT_THROW(import_log("", "a.txt"), Error);
}

// 5 us + n / 1 GB/s below 64 KiB, 20 us + n / 4 GB/s from there on.
MeasuredCurve stepped() {
  MeasuredCurve curve;
  for (std::size_t bytes = 1024; bytes <= 16U << 20; bytes *= 2) {
    const auto size = static_cast<double>(bytes);
    curve.bytes.push_back(bytes);
    curve.seconds.push_back(bytes < 65536 ? 5e-6 + size / 1e9 : 20e-6 + size / 4e9);
  }
  return curve;
}

TEST(LogFit, StepsAreFoundWhereTheyAre) {
  const CurveFit fit = fit_curve(stepped());
  ASSERT_EQ(fit.pieces.size(), 2U);
  EXPECT_EQ(fit.pieces[1].first_bytes, 65536U);
  // The data are exact, so the tolerance is that of arithmetic.
  EXPECT_NEAR(fit.pieces[0].latency_seconds.value, 5e-6, 1e-12);
  EXPECT_NEAR(fit.pieces[1].seconds_per_byte.value, 1 / 4e9, 1e-16);
  EXPECT_LT(fit.largest_residual, 1e-6);
}

}  // namespace
}  // namespace tutti
