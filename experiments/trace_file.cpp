#include "experiments/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "collectives/error.hpp"

namespace tutti {

const char* const trace_help =
    R"(A line of the trace is a JSON object: rank, lane, kind (send or recv), peer, bytes, dtype, op
(of a receive: what it does with the data; replace stores it), call (the algorithm), sequence (the
rank's calls so far), step (within the call), posted_seconds and finished_seconds (when the request
began and its wait returned, on the rank's clock; a simulated one starts at 0 in each run). Lines of
one rank are in the order in which its requests finished.)";

void TraceFile::open(const std::string& name) {
  name_ = name;
  if (name.empty()) return;
  descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) return;
  throw Error(ErrorKind::system,
              fmt::format("cannot write the trace '{}': {}", name, std::strerror(errno)));
}

TraceFile::~TraceFile() {
  if (is_open()) close(descriptor_);
}

void TraceFile::append(const TraceRecord& record) const {
  // One write to a file opened for appending is not mixed with other processes' writes.
  const std::string line = record.to_json() + '\n';
  const ssize_t written = write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return;
  throw Error(ErrorKind::system, fmt::format("cannot write the trace '{}': {}", name_,
                                             written < 0 ? std::strerror(errno) : "no space left"));
}

TracedRank::TracedRank(Channel& channel, const TraceFile& trace) : channel_(channel) {
  if (!trace.is_open()) return;
  traced_.emplace(channel, [&trace](const TraceRecord& record) { trace.append(record); });
}

}  // namespace tutti
