// Why: what a simulated run spent its time on, from what was observed of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/observation.hpp"
#include "topologies/shape.hpp"

namespace tutti {

/// A run as it was.
struct ObservedRun {
  const Shape& shape;
  const Observation& observation;            ///< With messages.
  const std::vector<double>& start_seconds;  ///< By rank; beyond the end 0.
  const std::vector<double>& end_seconds;    ///< By rank.
  bool reduces = false;          ///< Whether local work beyond the overheads is reductions.
  bool links_are_shared = true;  ///< False where no flow slows another.
};

/// One stretch of the critical path.
struct PathPiece {
  enum class Kind : std::uint8_t {
    late_start,  ///< `rank` had not begun.
    local,       ///< `rank` reduced, or was busy with sending or receiving.
    message,     ///< From `rank` to `peer`.
  };
  Kind kind = Kind::local;
  int rank = 0;
  int peer = -1;
  int step = 0;
  int link = -1;  ///< Of a message: the tightest of its route; -1 where it crosses none.
  std::size_t bytes = 0;
  double begin_seconds = 0.0;
  double end_seconds = 0.0;

  double seconds() const { return end_seconds - begin_seconds; }
};

/// Where the time of a critical path goes; the sum is the time of the run.
struct PathTime {
  double latency_seconds = 0.0;     ///< Of the routes of its messages.
  double transfer_seconds = 0.0;    ///< Of their bytes, if each had its links to itself.
  double contention_seconds = 0.0;  ///< What they took longer, because others crossed their links.
  double reduction_seconds = 0.0;
  double overhead_seconds = 0.0;  ///< Of sending and receiving, and any other local work.
  double late_start_seconds = 0.0;

  /// "latency-bound" (latency and overheads), "bandwidth-bound" (transfer and contention),
  /// "reduction-bound" or "straggler-bound" by the largest sum; "" where no time passes.
  std::string limit() const;
};

struct BusyLink {
  int link = 0;
  double bytes = 0.0;
  /// Bytes over what it could carry in the time of the run, at most 1; none where flows do not
  /// share links.
  std::optional<double> utilisation;
  int most_flows = 0;  ///< At the same time.
};

struct ClassBytes {
  std::string link_class;
  double bytes = 0.0;  ///< Over all its links: a message counts once for each.
};

/// A rank or link, and how much of the critical path it accounts for.
struct Culprit {
  std::string kind;  ///< "rank" or "link"; "" for none.
  std::string name;  ///< The rank's number or the link's name.
  double seconds = 0.0;

  bool operator==(const Culprit&) const = default;
};

struct Why {
  double seconds = 0.0;  ///< Of the run: until its last rank ended.
  PathTime time;
  std::vector<PathPiece> path;       ///< The critical path, from the beginning.
  std::vector<BusyLink> busiest;     ///< At most ten, by the time that their bytes take.
  std::vector<ClassBytes> classes;   ///< In the order of the links, where bytes crossed any.
  std::vector<double> wait_seconds;  ///< By rank: how long it was blocked.
  std::vector<Culprit> culprits;     ///< What is on the critical path, the largest share first.
  std::string hint;                  ///< A sentence: what to look at. "" where no time passes.
};

/// Cost: n log n in the messages, and a route for each.
Why why(const ObservedRun& run);

}  // namespace tutti
