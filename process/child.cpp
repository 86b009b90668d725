#include "process/child.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace tutti {

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before the request.
  if (getppid() != parent) _exit(1);
}

}  // namespace tutti
