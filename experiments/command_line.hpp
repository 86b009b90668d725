// The `tutti` command: flags in, exit code out.
#pragma once

namespace tutti {

/// 0: good; 1: a result is wrong; 2: the command line, or what a file says, is wrong; 3: something
/// failed in operation, such as the reading of a file. Results go to stdout, everything else to
/// stderr.
enum ExitCode : int { good = 0, wrong_result = 1, usage_error = 2, operating_error = 3 };

/// Runs the command; throws nothing.
int run_command_line(int argc, const char* const* argv);

}  // namespace tutti
