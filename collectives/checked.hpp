// Checked: the part of the Channel contract that binds its user, as assertions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collectives/decorator.hpp"

namespace tutti {

/// Forwards to `inner`, which must outlive it, and throws ContractError when a request is waited
/// for twice or out of posting order, when a block overlaps one that an open receive may write or
/// that an open send may read and the new receive would write, and when a sender's block has
/// changed before its wait returned (a checksum; costs a pass over each block). Destroying it with
/// open requests ends the process, unless an exception is under way.
class Checked final : public Decorator {
 public:
  explicit Checked(Channel& inner);
  ~Checked() override;

 protected:
  Request post_send(int to, Block block) override;
  Request post_recv(int from, Block block, Op op) override;
  void complete(Request request) override;

 private:
  struct Open {
    bool is_send = false;
    int peer = 0;
    Block block;
    std::uint64_t checksum = 0;
  };

  void check_overlap(Block block, bool writes) const;
  std::deque<std::uint64_t>& queue_of(const Open& open);

  int exceptions_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::vector<std::deque<std::uint64_t>> sends_;
  std::vector<std::deque<std::uint64_t>> receives_;
};

}  // namespace tutti
