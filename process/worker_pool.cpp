#include "process/worker_pool.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <optional>
#include <utility>

#include "collectives/error.hpp"
#include "process/child.hpp"

namespace tutti {
namespace {

constexpr int patience_milliseconds = 200;

// All of it, or false where the other end has gone.
bool write_all(int descriptor, const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = send(descriptor, next, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int descriptor, void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(descriptor, next, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

// What a forked process does until its caller closes the socket.
[[noreturn]] void serve(int socket, const PoolHooks& hooks) {
  // The caller's handlers are not for this process; what it ignores is ignored here too.
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) std::signal(number, SIG_DFL);
  }
  std::uint64_t task = 0;
  while (read_all(socket, &task, sizeof(task))) {
    const std::string result = hooks.work(static_cast<std::size_t>(task));
    const std::uint64_t bytes = result.size();
    if (!write_all(socket, &bytes, sizeof(bytes))) break;
    if (!write_all(socket, result.data(), result.size())) break;
  }
  _exit(0);
}

struct Worker {
  pid_t process = -1;
  int socket = -1;
  std::optional<std::size_t> task;
};

class Pool {
 public:
  Pool(const std::vector<std::size_t>& tasks, int processes, const PoolHooks& hooks)
      : tasks_(tasks), most_(static_cast<std::size_t>(processes)), hooks_(hooks) {}
  ~Pool() {
    for (Worker& worker : workers_) end(worker, true);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run() {
    while (workers_.size() < most_ && start()) {
    }
    while (!workers_.empty()) {
      if (hooks_.stops()) return;
      await();
    }
  }

 private:
  // A process with its first task; false where there is no task, or no process to be had.
  bool start() {
    if (next_ == tasks_.size()) return false;
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return cannot("make a socket");
    }
    // What is buffered now must not be written twice.
    std::cout.flush();
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      return cannot("fork a process");
    }
    if (child == 0) {
      die_with_parent(parent);
      close(ends[0]);
      // Others' sockets would keep those processes from seeing their caller's end.
      for (const Worker& worker : workers_) close(worker.socket);
      serve(ends[1], hooks_);
    }
    close(ends[1]);
    workers_.push_back({child, ends[0], std::nullopt});
    give(workers_.back());
    return true;
  }

  bool cannot(const char* what) const {
    if (!workers_.empty()) return false;
    throw Error(ErrorKind::system, fmt::format("cannot {}: {}", what, std::strerror(errno)));
  }

  // The next task; without one the process is to end.
  void give(Worker& worker) {
    worker.task.reset();
    if (next_ == tasks_.size()) return;
    worker.task = tasks_[next_++];
    const std::uint64_t task = *worker.task;
    write_all(worker.socket, &task, sizeof(task));
  }

  void await() {
    std::vector<pollfd> waits;
    for (const Worker& worker : workers_) waits.push_back({worker.socket, POLLIN, 0});
    if (poll(waits.data(), waits.size(), patience_milliseconds) <= 0) return;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0) receive(workers_[i]);
    }
    std::erase_if(workers_, [](const Worker& worker) { return worker.socket < 0; });
    // In place of those that crashed.
    while (workers_.size() < most_ && start()) {
    }
  }

  void receive(Worker& worker) {
    const std::size_t task = *worker.task;
    std::uint64_t bytes = 0;
    std::string result;
    bool whole = read_all(worker.socket, &bytes, sizeof(bytes));
    if (whole) {
      result.resize(static_cast<std::size_t>(bytes));
      whole = read_all(worker.socket, result.data(), result.size());
    }
    if (!whole) {
      const std::string why = end(worker, false);
      hooks_.crashed(task, why);
      return;
    }
    hooks_.finished(task, result);
    give(worker);
    if (!worker.task) end(worker, false);
  }

  // Returns how the process ended, for people.
  static std::string end(Worker& worker, bool kills) {
    if (worker.socket < 0) return "";
    close(worker.socket);
    worker.socket = -1;
    if (kills) kill(worker.process, SIGKILL);
    int status = 0;
    while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) {
      return fmt::format("its process was ended by signal {} ({})", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    }
    return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
  }

  const std::vector<std::size_t>& tasks_;
  const std::size_t most_;
  const PoolHooks& hooks_;
  std::size_t next_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace

void run_in_processes(const std::vector<std::size_t>& tasks, int processes,
                      const PoolHooks& hooks) {
  Pool(tasks, processes, hooks).run();
}

}  // namespace tutti
