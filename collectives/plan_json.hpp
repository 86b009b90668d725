// Plans as JSON, complete: what is read back equals what was written.
#pragma once

#include <string>
#include <string_view>

#include "collectives/plan.hpp"

namespace tutti {

/// One line a program:
///
///   {"format": "tutti plan 1", "size": N, "programs": [
///     {"rank": 0, "lane": 0, "calls": ["..."], "events": [EVENT, ...]}, ...]}
///
/// with the events
///
///   {"do": "send", "step": 1, "request": 1, "to": 1, "count": 6, "dtype": "float32",
///    "buffer": 0, "offset_bytes": 24}
///   {"do": "recv", ..., "from": 3, ..., "op": "sum"}
///   {"do": "wait", "step": 1, "request": 1}
///   {"do": "copy" | "reduce" | "scale" | "scratch", "step", "count", "dtype", "buffer",
///    "offset_bytes", "source_buffer", "source_offset_bytes", "op"}
///   {"do": "compute", "step": 1, "seconds": 0.001}
///
/// Keys with their default value are left out: buffer -1, offset_bytes 0, dtype float32, op
/// replace, ghost false, call -1 and signature 0 (of send and recv), and what does not concern the
/// event.
std::string to_json(const Plan& plan);

/// Throws Error(usage) that says where ("line 3, column 7" for what is no JSON, "programs[0],
/// events[4]" for what is no plan), what was found and what was expected. A plan that is returned
/// is well formed: peers are ranks, every request is posted once, with a number one higher than the
/// one before, and then waited for once. Its messages are not matched.
Plan plan_from_json(std::string_view text);

}  // namespace tutti
