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

CommandResult run_tutti(const std::string& arguments) {
  const std::string base = fmt::format("{}tutti_{}", testing::TempDir(), getpid());
  const std::string output = base + ".out", errors = base + ".err";
  const std::string command =
      fmt::format("exec >{} 2>{}; {} {}", output, errors, TUTTI_COMMAND, arguments);
  const int status = std::system(command.c_str());
  CommandResult result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                       read_text(output), read_text(errors)};
  unlink(output.c_str());
  unlink(errors.c_str());
  return result;
}

}  // namespace tutti
