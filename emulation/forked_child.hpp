// ForkedChild: a process that does something where this one must not be.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "process/temporary_file.hpp"

namespace tutti {

/// Dies with this object, or with the process that made it.
class ForkedChild {
 public:
  /// The child ends with the exit code that `body` returns; with 3 where that throws, which
  /// message() then tells. `body` may write to `messages`, a descriptor, and may exec. Throws
  /// Error(system).
  explicit ForkedChild(const std::function<int(int messages)>& body);
  ~ForkedChild();
  ForkedChild(ForkedChild&& other) noexcept;
  ForkedChild& operator=(ForkedChild&&) = delete;

  pid_t pid() const { return pid_; }

  /// Until it ends; its status as waitpid() tells it.
  int wait();

  /// The same if it has ended, else -1.
  int poll();

  void kill() const;

  /// What was written to `messages`, without line breaks at its end.
  std::string message() const;

 private:
  int reap(int options);

  TemporaryFile messages_;
  pid_t pid_ = -1;
  int status_ = -1;
};

}  // namespace tutti
