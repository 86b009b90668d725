#include "collectives/local.hpp"

#include <cstring>

#include "collectives/kernels.hpp"

namespace tutti {
namespace {

constexpr std::ptrdiff_t scratch_distance = std::ptrdiff_t{1} << 59;  // Between ghosts.

void check_alike(const char* what, Block target, Block source) {
  check(target.count == source.count && target.is_ghost() == source.is_ghost(),
        "{}: the target has {} elements{}, the source {}{}", what, target.count,
        target.is_ghost() ? " (a ghost)" : "", source.count, source.is_ghost() ? " (a ghost)" : "");
}

void check_same_dtype(const char* what, Block target, Block source) {
  check(target.dtype == source.dtype, "{}: the target is {}, the source {}", what,
        name_of(target.dtype), name_of(source.dtype));
}

}  // namespace

void copy_block(Channel& channel, Block target, Block source) {
  if (target.is_empty() && source.is_empty()) return;
  check_alike("copy_block", target, source);
  check_same_dtype("copy_block", target, source);
  if (!target.is_ghost()) {
    if (target.data == source.data) return;
    channel.agree();
    std::memmove(target.data, source.data, target.bytes());
  }
  channel.charge(Work{Work::Kind::copy, 0.0, target, source, Op::replace});
}

void reduce_block(Channel& channel, Block target, Block source, Op op) {
  if (target.is_empty() && source.is_empty()) return;
  check_alike("reduce_block", target, source);
  check_same_dtype("reduce_block", target, source);
  if (!target.is_ghost()) {
    channel.agree();
    reduce_elements(op, target.dtype, target.data, source.data, target.count);
  }
  channel.charge(Work{Work::Kind::reduce, 0.0, target, source, op});
}

void fold_in_order(Channel& channel, Block own, int index, const Parts& others,
                   std::span<const Request> received, Op op) {
  const auto arrived = [&](int i) {
    channel.wait(received[static_cast<std::size_t>(i)]);
    return others[i];
  };
  if (index > 0) {
    const Block below = arrived(0);
    for (int i = 1; i < index; ++i) reduce_block(channel, below, arrived(i), op);
    reduce_block(channel, own, below, op);
  }
  for (int i = index; i < others.size(); ++i) reduce_block(channel, own, arrived(i), op);
}

void divide_block(Channel& channel, Block target, int divisor) {
  if (target.is_empty()) return;
  if (!target.is_ghost()) {
    channel.agree();
    divide_elements(target.dtype, target.data, target.count, divisor);
  }
  channel.charge(Work{Work::Kind::scale, 0.0, target, target, Op::replace});
}

void convert_block(Channel& channel, Block target, Block source) {
  if (target.is_empty() && source.is_empty()) return;
  check_alike("convert_block", target, source);
  if (!target.is_ghost()) {
    channel.agree();
    convert_elements(target.dtype, target.data, source.dtype, source.data, target.count);
  }
  channel.charge(Work{Work::Kind::scale, 0.0, target, source, Op::replace});
}

Scratch::Scratch(Channel& channel, Block like) : block_(like) {
  if (!like.is_ghost()) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(like.bytes());
    block_.data = memory_.get();
  } else if (like.data != nullptr) {
    block_.data += scratch_distance;  // Apart from what it is like.
  }
  channel.charge(Work{Work::Kind::scratch, 0.0, block_, {}, Op::replace});
}

}  // namespace tutti
