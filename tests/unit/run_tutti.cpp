#include "run_tutti.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tutti {

std::string read_text(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

CommandResult run_command(const std::string& command) {
  const std::string base = fmt::format("{}tutti_{}", testing::TempDir(), getpid());
  const std::string output = base + ".out", errors = base + ".err";
  const std::string whole = fmt::format("exec >{} 2>{}; {}", output, errors, command);
  const int status = std::system(whole.c_str());
  CommandResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                       read_text(output), read_text(errors)};
  unlink(output.c_str());
  unlink(errors.c_str());
  return result;
}

CommandResult run_tutti(const std::string& arguments) {
  return run_command(fmt::format("{} {}", TUTTI_COMMAND, arguments));
}

}  // namespace tutti
