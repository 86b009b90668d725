#include "experiments/launched.hpp"

#include <cstdio>
#include <string_view>

#include "exec/mpi_launch.hpp"
#include "experiments/command_line.hpp"
#include "experiments/transport.hpp"

namespace tutti {
namespace {

// What stands behind the last --transport, "" where there is none. The parser, which defaults
// depend on, comes later.
std::string_view transport_of(int argc, const char* const* argv) {
  constexpr std::string_view flag = "--transport";
  std::string_view found;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == flag && i + 1 < argc) found = argv[i + 1];
    if (word.starts_with(flag) && word.substr(flag.size()).starts_with('=')) {
      found = word.substr(flag.size() + 1);
    }
  }
  return found;
}

bool is_study(int argc, const char* const* argv) {
  return argc > 1 && std::string_view(argv[1]) == "whatif";
}

bool wants_mpi(int argc, const char* const* argv) {
  if (is_study(argc, argv)) return mpi_launch().size > 1 && mpi_available();
  if (argc < 2 || std::string_view(argv[1]) != "bench") return false;
  const std::string_view transport = transport_of(argc, argv);
  return transport == name_of(Transport::mpi) || (transport.empty() && mpi_launch().size > 1);
}

}  // namespace

int run_launched(int argc, const char* const* argv) {
  if (!wants_mpi(argc, argv)) return run_command_line(argc, argv);
  try {
    join(Transport::mpi, join_mpi());
  } catch (const Error& error) {
    // A study can be shared by files as well.
    if (is_study(argc, argv)) return run_command_line(argc, argv);
    std::fprintf(stderr, "tutti: %s\n", error.what());
    return error.kind() == ErrorKind::usage ? usage_error : operating_error;
  }
  return finish_joined(run_command_line(argc, argv));
}

}  // namespace tutti
