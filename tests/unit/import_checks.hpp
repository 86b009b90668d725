// What tests of the importers share. Run from the source folder, as all tests are.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "topologies/import.hpp"
#include "topologies/load.hpp"

namespace tutti {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream) << file << " cannot be read";
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A small file of our own, and a real one, which not everybody has.
inline std::filesystem::path own_topology(const std::string& name) {
  return std::filesystem::path("tests/fixtures/topologies") / name;
}
inline std::filesystem::path real_topology(const std::string& name) {
  return std::filesystem::path("../shared/fixtures/topologies") / name;
}

inline Import import_file(const std::filesystem::path& file, std::string_view format = {}) {
  return import_topology(text_of(file), file.filename().string(), format);
}

inline Shape shape_of(const Import& import) {
  SCOPED_TRACE(import.yaml);
  return parse_shape(import.yaml, "imported.yaml");
}

/// The text of the refusal, or the YAML that there should not be.
inline std::string refusal_of(std::string_view text, std::string_view format = {}) {
  try {
    return "imported: " + import_topology(text, "file.xml", format).yaml;
  } catch (const ShapeError& error) {
    return error.what();
  }
}

inline auto has_note(ImportNote::Kind kind, int line, const std::string& text) {
  return testing::Contains(testing::AllOf(
      testing::Field(&ImportNote::kind, kind), testing::Field(&ImportNote::line, line),
      testing::Field(&ImportNote::text, testing::HasSubstr(text))));
}

/// The number of notes of a kind.
inline int notes_of(const Import& import, ImportNote::Kind kind) {
  int count = 0;
  for (const ImportNote& note : import.notes) count += note.kind == kind ? 1 : 0;
  return count;
}

inline int host_of_name(const Shape& shape, std::string_view name) {
  for (std::size_t host = 0; host < shape.hosts.size(); ++host) {
    if (shape.hosts[host].name == name) return static_cast<int>(host);
  }
  ADD_FAILURE() << "no host " << name << " in " << shape.name;
  return 0;
}

/// Bandwidths are numbers of a file; latencies sums of a few.
inline void expect_way(const Shape& shape, std::string_view from, std::string_view to,
                       double bandwidth_bytes_per_second, double latency_seconds) {
  SCOPED_TRACE(std::string(from) + " to " + std::string(to));
  const int source = host_of_name(shape, from);
  const int target = host_of_name(shape, to);
  EXPECT_NEAR(shape.bandwidth_bytes_per_second(source, target), bandwidth_bytes_per_second,
              1e-9 * bandwidth_bytes_per_second);
  EXPECT_NEAR(shape.latency_seconds(source, target), latency_seconds,
              1e-12 + 1e-9 * latency_seconds);
}

}  // namespace tutti

/// Skips a test whose file is not there.
#define TUTTI_NEED_FILE(file) \
  if (!std::filesystem::exists(file)) GTEST_SKIP() << (file) << " is not there"
