// Runs the command as a user does, and keeps what it prints.
#pragma once

#include <string>

namespace tutti {

struct CommandResult {
  int exit_code = -1;  ///< 128 + the signal that ended it.
  std::string output;
  std::string errors;
};

/// `command` as typed in a shell.
CommandResult run_command(const std::string& command);

/// `arguments` as typed in a shell; they may redirect.
CommandResult run_tutti(const std::string& arguments);

/// The text of a file.
std::string read_text(const std::string& file);

}  // namespace tutti
