#include "exec/faults.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace tutti {

void act_on_process(const Fault& fault) {
  switch (fault.kind) {
    case Fault::Kind::delay:
      std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
      return;
    case Fault::Kind::stall:
      for (;;) pause();
    case Fault::Kind::kill:
      std::raise(SIGKILL);
      return;
  }
}

}  // namespace tutti
