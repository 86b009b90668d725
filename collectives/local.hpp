// Local work on a rank's own blocks: done at once when the blocks are real, charged always.
#pragma once

#include <memory>
#include <span>

#include "collectives/channel.hpp"
#include "collectives/parts.hpp"

namespace tutti {

/// target = source. Counts, dtypes and ghostness agree (programmer error otherwise); identical
/// blocks are left alone and cost nothing.
void copy_block(Channel& channel, Block target, Block source);

/// target = op(target, source); both of the same dtype.
void reduce_block(Channel& channel, Block target, Block source, Op op);

/// own = x[0], x[1], ... folded in this order, where `own` is x[index] and `others` hold the rest
/// in order: the same bits whoever folds. Overwrites others[0]. Waits for received[i] when
/// others[i] is about to be folded.
void fold_in_order(Channel& channel, Block own, int index, const Parts& others,
                   std::span<const Request> received, Op op);

/// target = target / divisor, for floating-point types.
void divide_block(Channel& channel, Block target, int divisor);

/// target = source converted to target's floating-point type.
void convert_block(Channel& channel, Block target, Block source);

/// Memory for intermediate results, not initialised; a ghost where `like` is one.
class Scratch {
 public:
  Scratch(Channel& channel, Block like);

  Block block() const { return block_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  Block block_;
};

}  // namespace tutti
