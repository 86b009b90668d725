// SimGrid's own MPI as the oracle: its ring allreduce on the same platform and network model.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "collectives/catalogue.hpp"
#include "collectives/run.hpp"
#include "sim/sim_world.hpp"
#include "topologies/fabrics.hpp"

namespace tutti {
namespace {

/// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "tutti-smpi-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_platform(const Shape& shape, const std::filesystem::path& file) {
  std::ofstream out(file);
  out << "<?xml version='1.0'?>\n"
         "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version='4.1'><zone id='shape' routing='Full'>\n";
  for (const Host& host : shape.hosts)
    out << fmt::format("<host id='{}' speed='1Gf'/>\n", host.name);
  for (const Link& link : shape.links) {
    out << fmt::format("<link id='{}' bandwidth='{}Bps' latency='{}s'/>\n", link.name,
                       link.bandwidth_bytes_per_second, link.latency_seconds);
  }
  for (int from = 0; from < shape.size(); ++from) {
    for (int to = 0; to < shape.size(); ++to) {
      if (from == to) continue;
      out << fmt::format("<route src='{}' dst='{}' symmetrical='NO'>",
                         shape.hosts[static_cast<std::size_t>(from)].name,
                         shape.hosts[static_cast<std::size_t>(to)].name);
      for (const int link : shape.route(from, to)) {
        out << fmt::format("<link_ctn id='{}'/>", shape.links[static_cast<std::size_t>(link)].name);
      }
      out << "</route>\n";
    }
  }
  out << "</zone></platform>\n";
}

/// Seconds of SMPI's ring ("lr") with its own overheads, eager messages and factors switched off.
double smpi_ring_seconds(const Shape& shape, std::size_t count) {
  const TemporaryFolder folder;
  write_platform(shape, folder.path() / "platform.xml");
  std::ofstream hosts(folder.path() / "hosts");
  for (const Host& host : shape.hosts) hosts << host.name << "\n";
  hosts.close();

  const std::string command = fmt::format(
      "cd {} && smpirun -np {} -platform platform.xml -hostfile hosts --log=root.thres:error"
      " --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/latency-factor:1"
      " --cfg=network/bandwidth-factor:1 --cfg=network/weight-S:0 --cfg=network/TCP-gamma:1e300"
      " --cfg=smpi/simulate-computation:0 --cfg=smpi/wtime:0 --cfg=smpi/async-small-thresh:0"
      " --cfg=smpi/send-is-detached-thresh:0 --cfg=smpi/allreduce:lr {} {} 2>smpi-log",
      folder.path().string(), shape.size(), TUTTI_SMPI_ALLREDUCE, count);
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("smpirun cannot be started");
  double seconds = 0.0;
  const int fields = std::fscanf(pipe, "%lf", &seconds);
  if (pclose(pipe) != 0 || fields != 1) {
    std::ifstream log(folder.path() / "smpi-log");
    throw std::runtime_error("smpirun failed: " + std::string(std::istreambuf_iterator(log), {}));
  }
  return seconds;
}

double ring_seconds(const Shape& shape, std::size_t count) {
  SimWorld world(shape, shape.size());
  const Algorithm& ring = find_algorithm(Collective::allreduce, "ring");
  world.run([&](Rank& rank) { run(ring, rank.channel(), Block{nullptr, count, DType::float32}); });
  return world.seconds();
}

TEST(SmpiOracle, SmpisRingAllreduceAgreesWithinHalfAPercent) {
  for (const int size : {2, 3, 4, 8, 16}) {
    const Shape shape = star_shape(size, 12.5e9, 5e-6);
    for (const std::size_t count : {4800u, 48000u, 480000u, 24000000u}) {
      const double expected = smpi_ring_seconds(shape, count);
      EXPECT_NEAR(ring_seconds(shape, count) / expected, 1.0, 0.005)
          << size << " ranks, " << count << " floats, SMPI takes " << expected << " s";
    }
  }
}

}  // namespace
}  // namespace tutti
