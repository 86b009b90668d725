#include "sim/sim_observer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/error.hpp"

namespace tutti {
namespace {

static_assert(std::is_trivially_copyable_v<MessageRecord>);
static_assert(std::is_trivially_copyable_v<BlockRecord>);

template <typename Record>
void write_records(const TemporaryFile& file, const std::vector<Record>& records) {
  const std::size_t count = records.size();
  file.write({reinterpret_cast<const char*>(&count), sizeof(count)});
  file.write({reinterpret_cast<const char*>(records.data()), count * sizeof(Record)});
}

// Takes them from the front of the text.
template <typename Record>
std::vector<Record> read_records(std::string_view& text) {
  const auto take = [&](void* into, std::size_t bytes) {
    if (text.size() < bytes) {
      throw Error(ErrorKind::system, "the process of the simulation did not write all it observed");
    }
    if (bytes > 0) std::memcpy(into, text.data(), bytes);
    text.remove_prefix(bytes);
  };
  std::size_t count = 0;
  take(&count, sizeof(count));
  std::vector<Record> records(std::min(count, text.size() / sizeof(Record)));
  take(records.data(), count * sizeof(Record));
  return records;
}

}  // namespace

SimObserver::Stream& SimObserver::stream_of(const MessageRecord& record) {
  return streams_[{record.lane, record.from, record.to}];
}

void SimObserver::begin(MessageRecord& record) const {
  record.begin_seconds = record.bytes <= eager_bytes_
                             ? record.send_posted_seconds
                             : std::max(record.send_posted_seconds, record.receive_posted_seconds);
}

std::size_t SimObserver::post_send(const MessageRecord& record, double now_seconds) {
  Stream& stream = stream_of(record);
  auto& messages = observation_.messages;
  if (stream.receives.empty()) {
    messages.push_back(record);
    messages.back().send_posted_seconds = now_seconds;
    stream.sends.push_back(messages.size() - 1);
    return messages.size() - 1;
  }
  const std::size_t index = stream.receives.front();
  stream.receives.pop_front();
  messages[index].send_step = record.send_step;
  messages[index].send_posted_seconds = now_seconds;
  begin(messages[index]);
  return index;
}

std::size_t SimObserver::post_receive(const MessageRecord& record, double now_seconds) {
  Stream& stream = stream_of(record);
  auto& messages = observation_.messages;
  if (stream.sends.empty()) {
    messages.push_back(record);
    messages.back().receive_posted_seconds = now_seconds;
    stream.receives.push_back(messages.size() - 1);
    return messages.size() - 1;
  }
  const std::size_t index = stream.sends.front();
  stream.sends.pop_front();
  messages[index].receive_step = record.receive_step;
  messages[index].receive_posted_seconds = now_seconds;
  begin(messages[index]);
  return index;
}

void SimObserver::finish(const BlockRecord& block, double ended_seconds) {
  observation_.messages[block.message].end_seconds = ended_seconds;
  if (block.end_seconds > block.begin_seconds) observation_.blocks.push_back(block);
}

void SimObserver::sort() {
  auto& messages = observation_.messages;
  std::vector<std::size_t> order(messages.size()), places(messages.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return messages[a].begin_seconds < messages[b].begin_seconds;
  });
  std::vector<MessageRecord> sorted;
  for (const std::size_t index : order) {
    places[index] = sorted.size();
    sorted.push_back(messages[index]);
  }
  messages = std::move(sorted);
  for (BlockRecord& block : observation_.blocks) block.message = places[block.message];
}

void SimObserver::write() {
  sort();
  write_records(file_, observation_.messages);
  write_records(file_, observation_.blocks);
}

Observation read_observation(const TemporaryFile& file) {
  const std::string content = file.content();
  std::string_view text = content;
  Observation observation;
  observation.messages = read_records<MessageRecord>(text);
  observation.blocks = read_records<BlockRecord>(text);
  return observation;
}

}  // namespace tutti
