// ReplayChannel: a Channel whose messages are those of a ReplayMail.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "collectives/channel.hpp"
#include "sim/deadlock.hpp"
#include "sim/host_cores.hpp"
#include "sim/local_costs.hpp"
#include "sim/replay_mail.hpp"
#include "sim/replay_tasks.hpp"

namespace tutti {

/// What the channels of a run share.
struct ReplayParts {
  ReplayTasks& tasks;
  ReplayMail& mail;
  HostCores& cores;
};

class ReplayChannel final : public Channel {
 public:
  /// `host` is where the rank runs.
  ReplayChannel(const ReplayParts& parts, int rank, int size, int lane, int host,
                const LocalCosts& costs);

  double now() const override { return parts_.tasks.now(); }
  void set_deadline(double seconds) override { deadline_seconds_ = seconds; }
  void charge(const Work& work) override;

  /// Programmer error if there are requests nobody has waited for and no failure explains them.
  void check_closed() const;

  /// What the channel's user waits for now.
  std::optional<RankState::Wait> waits_for() const;

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  void check_alive() const;
  void charge_bytes(std::size_t bytes) const;
  std::string describe_wait(ReplayMail::End end) const;
  void await(ReplayMail::End end) const;
  void deliver(ReplayMail::End end) const;

  const ReplayParts parts_;
  const ReplayParty self_;
  const int host_;
  const LocalCosts costs_;
  double deadline_seconds_ = no_deadline;
  std::size_t open_requests_ = 0;
  std::uint64_t known_signature_ = 0;  ///< Of the last call that the mail was told of.
  ReplayMail::End waiting_;            ///< None where nothing is waited for.
  std::unique_ptr<const Error> failure_;
};

}  // namespace tutti
