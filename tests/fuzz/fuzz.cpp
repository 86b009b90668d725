// The program that libFuzzer drives: TUTTI_FUZZ=TARGET fuzz FLAGS FOLDER. Lists its targets if none
// is named.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/targets.hpp"

namespace {

tutti::FuzzTarget chosen;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("TUTTI_FUZZ");
  for (const tutti::FuzzTarget& target : tutti::fuzz_targets()) {
    if (name == nullptr) fmt::print("{}\n", target.name);
    if (name != nullptr && target.name == name) chosen = target;
  }
  if (name == nullptr) std::exit(0);
  if (chosen.run) return 0;
  fmt::print(stderr, "no target '{}'; call without TUTTI_FUZZ for a list\n", name);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
