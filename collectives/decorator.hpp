// Decorator: a channel that passes everything on to another; the base of those that add something.
#pragma once

#include "collectives/channel.hpp"

namespace tutti {

/// Forwards to `inner`, which must outlive it. Shares its progress, so that both name the same
/// collective and step.
class Decorator : public Channel {
 public:
  double now() const override { return inner_.now(); }
  void set_deadline(double seconds) override { inner_.set_deadline(seconds); }
  void charge(const Work& work) override { inner_.charge(work); }

 protected:
  explicit Decorator(Channel& inner) : Decorator(inner, inner.rank(), inner.size()) {}

  /// For one that numbers the ranks in its own way.
  Decorator(Channel& inner, int rank, int size) : Channel(rank, size, inner), inner_(inner) {}

  Request post_send(int to, Block block) override { return inner_.isend(to, block); }
  Request post_recv(int from, Block block, Op op) override { return inner_.irecv(from, block, op); }
  void complete(Request request) override { inner_.wait(request); }

  Channel& inner() { return inner_; }

 private:
  Channel& inner_;
};

}  // namespace tutti
