#include "collectives/run.hpp"

#include "collectives/local.hpp"

namespace tutti {
namespace {

bool same_block(Block a, Block b) {
  return !a.is_ghost() && a.data == b.data && a.count == b.count && a.dtype == b.dtype;
}

// The buffer the algorithm works on, in place, and what has to be done around it.
class Workspace {
 public:
  Workspace(const Algorithm& algorithm, Channel& channel, const Arguments& arguments)
      : collective_(algorithm.collective),
        channel_(channel),
        in_place_(!arguments.input || same_block(*arguments.input, arguments.output)),
        input_(in_place_ ? arguments.output : *arguments.input),
        output_(arguments.output) {
    if (!in_place_) check_blocks(algorithm);
    const bool input_is_whole = !in_place_ && collective_ == Collective::reduce_scatter;
    const std::size_t count = input_is_whole ? input_.count : output_.count;
    const DType dtype = is_widened(arguments) ? DType::float32 : output_.dtype;
    if (count != output_.count || dtype != output_.dtype) {
      scratch_.emplace(Block{output_.is_empty() ? input_.data : output_.data, count, dtype});
    }
    data_ = scratch_ ? scratch_->block() : output_;
  }

  Block data() const { return data_; }

  /// Brings what the rank contributes into data().
  void fill(int root) {
    if (in_place_ && !scratch_) return;
    if (collective_ == Collective::broadcast && channel_.rank() != root) return;
    const bool only_part = collective_ == Collective::allgather;
    move(only_part ? own_part(data_) : data_, input_);
  }

  /// Brings the rank's result from data() into the output.
  void empty() {
    if (!scratch_) return;
    const bool only_part = collective_ == Collective::reduce_scatter;
    move(only_part && in_place_ ? own_part(output_) : output_, only_part ? own_part(data_) : data_);
  }

 private:
  bool is_widened(const Arguments& arguments) const {
    const DType dtype = output_.dtype;
    return reduces(collective_) && arguments.accumulate == Accumulate::float32 &&
           (dtype == DType::float16 || dtype == DType::bfloat16);
  }

  Block own_part(Block block) const { return block.part(channel_.rank(), channel_.size()); }

  void check_blocks(const Algorithm& algorithm) const {
    const int rank = channel_.rank();
    const bool is_gather = collective_ == Collective::allgather;
    const bool is_scatter = collective_ == Collective::reduce_scatter;
    check_count(algorithm, "input", input_, is_gather ? own_part(output_).count : output_.count,
                is_scatter, rank);
    check_count(algorithm, "output", output_, is_scatter ? own_part(input_).count : output_.count,
                false, rank);
    if (input_.dtype == output_.dtype) return;
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: rank {} passes {} as input and {} as output, expected the same",
                    algorithm.full_name, rank, name_of(input_.dtype), name_of(output_.dtype)),
        rank);
  }

  static void check_count(const Algorithm& algorithm, const char* name, Block block,
                          std::size_t expected, bool any, int rank) {
    if (any || block.count == expected) return;
    throw Error(ErrorKind::usage,
                fmt::format("{}: rank {} passes {} elements as {}, expected {}",
                            algorithm.full_name, rank, block.count, name, expected),
                rank);
  }

  void move(Block target, Block source) {
    if (target.dtype != source.dtype) return convert_block(channel_, target, source);
    copy_block(channel_, target, source);
  }

  Collective collective_;
  Channel& channel_;
  bool in_place_;
  Block input_;
  Block output_;
  std::optional<Scratch> scratch_;
  Block data_;
};

}  // namespace

void check_supported(Collective collective, DType dtype, Op op, int root, int size) {
  if (root < 0 || root >= size) {
    throw Error(ErrorKind::usage, fmt::format("{}: root {} is not a rank, expected 0 to {}",
                                              name_of(collective), root, size - 1));
  }
  if (!reduces(collective)) return;
  if (op == Op::replace) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: op replace does not reduce, expected sum, product, min, max or "
                            "average",
                            name_of(collective)));
  }
  if (op == Op::average && !is_floating(dtype)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: the average of {} is not an integer, expected a floating-point "
                            "dtype or op sum",
                            name_of(collective), name_of(dtype)));
  }
}

void run(const Algorithm& algorithm, Channel& channel, const Arguments& arguments) {
  check_supported(algorithm.collective, arguments.output.dtype, arguments.op, arguments.root,
                  channel.size());
  Workspace workspace(algorithm, channel, arguments);
  const Block data = workspace.data();
  const Problem problem{channel.size(), data.count, bytes_of(data.dtype), arguments.root};
  const bool is_rooted = algorithm.collective == Collective::broadcast;
  const Op op = reduces(algorithm.collective) ? arguments.op : Op::replace;
  const Operation operation(channel,
                            {algorithm.full_name, data.count, arguments.output.dtype, op,
                             is_rooted ? arguments.root : -1},
                            algorithm.steps(problem));
  workspace.fill(arguments.root);
  const bool averages = op == Op::average;
  algorithm.execute(channel, data, averages ? Op::sum : op, arguments.root);
  if (averages) {
    const bool only_part = algorithm.collective == Collective::reduce_scatter;
    divide_block(channel, only_part ? data.part(channel.rank(), channel.size()) : data,
                 channel.size());
  }
  workspace.empty();
}

}  // namespace tutti
