// EmulatedNetwork: the namespaces of an EmulationPlan, which the kernel removes with this process.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "emulation/emulation_plan.hpp"

namespace tutti {

/// A network namespace without a name: it exists as long as this object or a process within.
class NetworkNamespace {
 public:
  /// One that is empty but for its own loopback, with these settings of the kernel. Throws
  /// Error(system).
  explicit NetworkNamespace(const std::vector<EmulationSetting>& settings);
  ~NetworkNamespace();
  NetworkNamespace(NetworkNamespace&& other) noexcept;
  NetworkNamespace& operator=(NetworkNamespace&&) = delete;

  /// Where processes of the same user find it while this one lives.
  std::string path() const;

  /// Moves the calling process there: a forked child, as it cannot come back. Throws Error(system).
  void enter() const;

 private:
  int descriptor_ = -1;
};

/// All devices lie in namespaces of its own; this process stays in the one where it is, where
/// nothing is made or changed. Nothing has a name outside of the process, so that nothing is left
/// behind when it ends, however it ends.
class EmulatedNetwork {
 public:
  /// Takes the right to administer networks, or to make user namespaces: then this process moves
  /// into one, and must have no threads. Runs `ip` and `tc`. Throws Error(system) that names what
  /// was refused. `plan` outlives the object.
  explicit EmulatedNetwork(const EmulationPlan& plan);

  const EmulationPlan& plan() const { return plan_; }

  /// Moves the calling process, a forked child, to a node of the plan. Throws Error(system).
  void enter(int node) const;

 private:
  const EmulationPlan& plan_;
  std::vector<NetworkNamespace> namespaces_;  // By node.
};

}  // namespace tutti
