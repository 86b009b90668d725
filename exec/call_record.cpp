#include "exec/call_record.hpp"

#include <algorithm>
#include <cstring>

namespace tutti {

std::string CallRecord::describe() const {
  const Call call{algorithm.data(), count, dtype, op, root};
  std::string text = call.describe();
  if (group_size > 0) text += fmt::format(" in a group of {}", group_size);
  return text;
}

CallRecord record_of(const Progress& progress) {
  const Call& call = progress.call;
  CallRecord record{.sequence = progress.sequence,
                    .signature = progress.signature,
                    .count = call.count,
                    .root = call.root,
                    .dtype = call.dtype,
                    .op = call.op};
  if (progress.group != nullptr) {
    record.group_size = static_cast<std::int32_t>(progress.group->ranks.size());
  }
  const std::size_t length = std::min(call.algorithm.size(), record.algorithm.size() - 1);
  std::copy_n(call.algorithm.data(), length, record.algorithm.data());
  return record;
}

}  // namespace tutti
