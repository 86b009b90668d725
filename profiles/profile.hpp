// Profile: what messages and local work were measured to take, for predictions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/dtype.hpp"

namespace tutti {

/// What was measured about messages (or blocks) of some bytes, while each rank works through a
/// buffer of some bytes: in chains, where what has just been received is sent next, as collectives
/// do. Messages fall into memory that only its owner has touched, or (`shared`) that another rank
/// has read since the owner last wrote it: caches then have to agree on who may write.
enum class Curve : std::uint8_t {
  sent,            ///< The sender's own time while the receiver is late; 0 where it has to wait.
  alone,           ///< Ranks 0 and 1 send to and fro, the others sleep.
  loaded,          ///< All ranks at once send to the next one and receive from the one before.
  loaded_shared,   ///< The same, into shared memory.
  reduced,         ///< As `loaded`, combined with what is there.
  reduced_shared,  ///< The same, into shared memory.
  copied,          ///< A local copy, by all ranks at once.
  combined,        ///< A local reduction, by all ranks at once.
};
inline constexpr std::size_t curves = 8;

/// "alone", "loaded_shared", ...
std::string_view name_of(Curve curve);

/// A median, and the ends of a confidence interval around it.
struct Estimate {
  double seconds = 0.0;
  double low_seconds = 0.0;
  double high_seconds = 0.0;
};

struct ProfilePoint {
  std::size_t buffer_bytes = 0;
  std::size_t message_bytes = 0;
  std::array<Estimate, curves> times = {};  ///< By Curve.

  const Estimate& time(Curve curve) const { return times[static_cast<std::size_t>(curve)]; }
  Estimate& time(Curve curve) { return times[static_cast<std::size_t>(curve)]; }
};

/// All that was measured with one number of ranks.
struct RankProfile {
  int ranks = 2;
  /// What a collective takes besides its messages and local work.
  Estimate call;
  /// From one message to the next where one rank sends many to another, of the fewest bytes.
  Estimate gap;
  /// The smallest message whose sender waits for the receiver; 0: none does.
  std::size_t rendezvous_bytes = 0;
  /// By buffer, then by message, ascending; at least one.
  std::vector<ProfilePoint> points;

  /// Straight lines in the logarithms of bytes and seconds between the points; in proportion to the
  /// message beyond the largest, constant below the smallest.
  double seconds(Curve curve, std::size_t message_bytes, std::size_t buffer_bytes) const;
};

/// Where a profile comes from: names and values for people, in order.
struct ProvenanceEntry {
  std::string key;
  std::string value;
};

struct Profile {
  std::string transport;
  DType dtype = DType::float32;
  std::vector<ProvenanceEntry> provenance;
  std::vector<std::string> remarks;  ///< Lines of comments: fits, warnings.
  std::vector<RankProfile> ranks;    ///< By ascending number of ranks; at least one.

  /// That of the nearest number of ranks by ratio.
  const RankProfile& of(int count) const;

  /// The same with every estimate moved within its interval, by a share that `seed` draws for each:
  /// another outcome of the same measurement.
  Profile resampled(std::uint64_t seed) const;
};

/// A commented YAML text that read_profile() understands; times with five digits.
std::string write_profile(const Profile& profile);

/// Throws ShapeError "FILE:LINE:COLUMN: what" for what is no profile.
Profile read_profile(const std::string& text, const std::string& file);

}  // namespace tutti
