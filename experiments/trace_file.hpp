// TraceFile: one JSON line per finished request, of all ranks, in one file.
#pragma once

#include <optional>
#include <string>

#include "collectives/traced.hpp"

namespace tutti {

/// The keys of a line, for the commands' --help.
extern const char* const trace_help;

/// Ranks in different processes append whole lines to it, in no particular order between ranks. The
/// keys are those of TraceRecord. With an empty name nothing is traced.
class TraceFile {
 public:
  /// See open().
  explicit TraceFile(const std::string& name) { open(name); }
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Empties or creates the file, so everything else that can be wrong should be checked before.
  /// Throws Error(system) if it cannot. Called at most once with a name that is not empty.
  void open(const std::string& name);

  bool is_open() const { return descriptor_ >= 0; }

  /// Throws Error(system) if the line cannot be written.
  void append(const TraceRecord& record) const;

 private:
  std::string name_;
  int descriptor_ = -1;
};

/// A rank's channel as algorithms should use it: traced if there is a trace, else itself. Both
/// arguments outlive it.
class TracedRank {
 public:
  TracedRank(Channel& channel, const TraceFile& trace);

  Channel& channel() { return traced_ ? *traced_ : channel_; }

 private:
  Channel& channel_;
  std::optional<Traced> traced_;
};

}  // namespace tutti
