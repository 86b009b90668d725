// HostCores: pieces of work that share the cores of their hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_queue.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// Each piece of work takes one core; where there are more pieces than cores, all are equally slow.
class HostCores {
 public:
  /// Shape and queue outlive it.
  HostCores(const Shape& shape, EventQueue& queue);

  /// Begins `bytes` of reduction, copying or scaling for a task.
  void begin(double now_seconds, int host, double bytes, std::uint32_t task);

  /// Acts on an event of kind compute: appends the tasks whose work is done.
  void handle(double now_seconds, const Event& event, std::vector<std::uint32_t>& done);

  /// The task's work is of no interest any more.
  void cancel(double now_seconds, int host, std::uint32_t task);

 private:
  struct Piece {
    std::uint32_t task = 0;
    double bytes = 0.0;  ///< Left at since_seconds.
  };

  struct State {
    std::vector<Piece> pieces;
    double since_seconds = 0.0;
    std::uint32_t serial = 0;  ///< Of the event that is awaited.
  };

  double rate_of(std::size_t host) const;
  void advance(double now_seconds, std::size_t host);
  void await_next(double now_seconds, std::size_t host);

  const Shape& shape_;
  EventQueue& queue_;
  std::vector<State> states_;  ///< By host.
};

}  // namespace tutti
