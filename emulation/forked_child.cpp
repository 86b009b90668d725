#include "emulation/forked_child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "collectives/error.hpp"
#include "process/child.hpp"

namespace tutti {

ForkedChild::ForkedChild(const std::function<int(int messages)>& body) {
  // What is buffered now would be written twice.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    throw Error(ErrorKind::system, fmt::format("cannot fork: {}", std::strerror(errno)));
  }
  if (pid_ > 0) return;
  die_with_parent(parent);
  int code = 3;
  try {
    code = body(messages_.descriptor());
  } catch (const std::exception& error) {
    dprintf(messages_.descriptor(), "%s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

ForkedChild::~ForkedChild() {
  if (pid_ < 0) return;
  kill();
  wait();
}

ForkedChild::ForkedChild(ForkedChild&& other) noexcept
    : messages_(std::move(other.messages_)),
      pid_(std::exchange(other.pid_, -1)),
      status_(other.status_) {}

int ForkedChild::wait() {
  return reap(0);
}

int ForkedChild::poll() {
  return reap(WNOHANG);
}

void ForkedChild::kill() const {
  if (status_ < 0) ::kill(pid_, SIGKILL);
}

std::string ForkedChild::message() const {
  std::string text = messages_.content();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

int ForkedChild::reap(int options) {
  int status = 0;
  while (status_ < 0) {
    const pid_t reaped = waitpid(pid_, &status, options);
    if (reaped == pid_) status_ = status;
    if (reaped == 0) break;
    if (reaped < 0 && errno != EINTR) {
      throw Error(ErrorKind::system,
                  fmt::format("cannot wait for process {}: {}", pid_, std::strerror(errno)));
    }
  }
  return status_;
}

}  // namespace tutti
