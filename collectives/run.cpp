#include "collectives/run.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/local.hpp"

namespace tutti {
namespace {

bool same_block(Block a, Block b) {
  return !a.is_ghost() && a.data == b.data && a.count == b.count && a.dtype == b.dtype;
}

// How much of the whole buffer a rank passes in, or gets out.
enum class Extent : std::uint8_t { none, whole, part, whole_at_root };

struct Extents {
  Extent input;
  Extent output;
};

Extents extents_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
    case Collective::alltoall:
      return {Extent::whole, Extent::whole};
    case Collective::broadcast:
      return {Extent::whole_at_root, Extent::whole};
    case Collective::allgather:
      return {Extent::part, Extent::whole};
    case Collective::reduce_scatter:
      return {Extent::whole, Extent::part};
    case Collective::reduce:
      return {Extent::whole, Extent::whole_at_root};
    case Collective::gather:
      return {Extent::part, Extent::whole_at_root};
    case Collective::scatter:
      return {Extent::whole_at_root, Extent::part};
    case Collective::barrier:
      break;
  }
  return {Extent::none, Extent::none};
}

Parts divided(Block whole, const std::vector<std::size_t>& counts, int size) {
  return counts.empty() ? Parts(whole, size) : Parts(whole, counts);
}

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

// The whole buffer the algorithm works on, in place, and what has to be done around it.
class Workspace {
 public:
  Workspace(const Algorithm& algorithm, Channel& channel, const Arguments& arguments)
      : algorithm_(algorithm),
        channel_(channel),
        arguments_(arguments),
        extents_(extents_of(algorithm.collective)),
        in_place_(!arguments.input || same_block(*arguments.input, arguments.output)),
        input_(in_place_ ? arguments.output : *arguments.input),
        output_(arguments.output),
        count_(whole_count()) {
    check_blocks();
    const DType dtype = is_widened() ? DType::float32 : output_.dtype;
    if (count_ != output_.count || dtype != output_.dtype) {
      const Block real = output_.is_ghost() ? input_ : output_;
      scratch_.emplace(channel, Block{real.data, count_, dtype});
    }
    data_ = scratch_ ? scratch_->block() : output_;
    if (algorithm.collective == Collective::alltoall && in_place_) sent_.emplace(channel, output_);
  }

  Block data() const { return data_; }

  Invocation invocation(Op op) const {
    const Parts data = divided(data_, arguments_.counts, channel_.size());
    if (algorithm_.collective != Collective::alltoall) {
      return {data, data, op, arguments_.root, arguments_.tuning};
    }
    const Block source = sent_ ? sent_->block() : input_;
    return {data, divided(source, arguments_.source_counts, channel_.size()), op, arguments_.root,
            arguments_.tuning};
  }

  /// Brings what the rank contributes to where the algorithm expects it.
  void fill() {
    if (algorithm_.collective == Collective::alltoall) {
      if (sent_) copy_block(channel_, sent_->block(), output_);
      return;
    }
    if ((in_place_ && !scratch_) || !concerns(extents_.input)) return;
    move(region(data_, extents_.input), in_place_ ? region(input_, extents_.input) : input_);
  }

  /// The rank's result within data().
  Block result() const {
    return concerns(extents_.output) ? region(data_, extents_.output) : data_.slice(0, 0);
  }

  /// Brings the rank's result into the output.
  void empty() {
    if (!scratch_ || !concerns(extents_.output)) return;
    move(in_place_ ? region(output_, extents_.output) : output_, result());
  }

 private:
  bool is_widened() const {
    const DType dtype = output_.dtype;
    return reduces(algorithm_.collective) && arguments_.accumulate == Accumulate::float32 &&
           (dtype == DType::float16 || dtype == DType::bfloat16);
  }

  bool concerns(Extent extent) const {
    return extent != Extent::none &&
           (extent != Extent::whole_at_root || channel_.rank() == arguments_.root);
  }

  Block region(Block whole, Extent extent) const {
    if (extent != Extent::part) return whole;
    return divided(whole, arguments_.counts, channel_.size())[channel_.rank()];
  }

  std::size_t whole_count() const {
    if (!arguments_.counts.empty()) return sum_of(arguments_.counts);
    if (in_place_ || extents_.output == Extent::whole) return output_.count;
    if (extents_.input == Extent::whole) return input_.count;
    if (arguments_.count > 0) return arguments_.count;
    return std::max(extents_.input == Extent::whole_at_root ? input_.count : 0,
                    extents_.output == Extent::whole_at_root ? output_.count : 0);
  }

  void check_blocks() const {
    for (const auto* counts : {&arguments_.counts, &arguments_.source_counts}) {
      check_count("counts", counts->size(), counts->empty() ? 0 : channel_.size());
    }
    if (in_place_) return check_count("elements in place", output_.count, count_);
    check_extent("elements as input", input_, extents_.input);
    check_extent("elements as output", output_, extents_.output);
    if (input_.dtype == output_.dtype) return;
    refuse(fmt::format("{} as input and {} as output, expected the same", name_of(input_.dtype),
                       name_of(output_.dtype)));
  }

  void check_extent(const char* name, Block block, Extent extent) const {
    if (!concerns(extent) || algorithm_.collective == Collective::alltoall) return;
    const Block whole{nullptr, count_, block.dtype};
    check_count(name, block.count, region(whole, extent).count);
  }

  template <typename Expected>
  void check_count(const char* name, std::size_t found, Expected expected) const {
    if (found == static_cast<std::size_t>(expected)) return;
    refuse(fmt::format("{} {}, expected {}", found, name, expected));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::usage,
                fmt::format("{}: rank {} passes {}", algorithm_.full_name, channel_.rank(), what),
                channel_.rank());
  }

  void move(Block target, Block source) {
    if (target.dtype != source.dtype) return convert_block(channel_, target, source);
    copy_block(channel_, target, source);
  }

  const Algorithm& algorithm_;
  Channel& channel_;
  const Arguments& arguments_;
  Extents extents_;
  bool in_place_;
  Block input_;
  Block output_;
  std::size_t count_;
  std::optional<Scratch> scratch_;  // The whole buffer, where the output cannot serve.
  std::optional<Scratch> sent_;     // What alltoall sends, where it is in place.
  Block data_;
};

bool has_counts(const Arguments& arguments) {
  return !arguments.counts.empty() || !arguments.source_counts.empty();
}

// Closed forms are of equal parts: with counts, those of the next count that divides.
Problem problem_of(const Arguments& arguments, int size, Block data) {
  Problem problem{size, data.count, bytes_of(data.dtype), arguments.root, arguments.tuning};
  const auto ranks = static_cast<std::size_t>(size);
  if (has_counts(arguments)) problem.count = (data.count + ranks - 1) / ranks * ranks;
  return problem;
}

void refuse_unsupported(const Algorithm& algorithm, const Arguments& arguments,
                        const Problem& problem) {
  if (has_counts(arguments) && algorithm.parts == PartSizes::equal) {
    throw Error(ErrorKind::usage, fmt::format("{}: counts are not supported, expected equal parts",
                                              algorithm.full_name));
  }
  const Tuning& tuning = problem.tuning;
  if (tuning.segments < 0 || tuning.radix < 0 || tuning.group < 0) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} segments, radix {} and a group of {} are not supported, "
                            "expected none below 0",
                            algorithm.full_name, tuning.segments, tuning.radix, tuning.group));
  }
  if (algorithm.supports(problem)) return;
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} elements among {} ranks are not supported, expected {}",
                          algorithm.full_name, problem.count, problem.ranks, algorithm.supported));
}

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
  const Collective collective = algorithm.collective;
  check_supported(collective, arguments.output.dtype, arguments.op, arguments.root, channel.size());
  Workspace workspace(algorithm, channel, arguments);
  const Block data = workspace.data();
  const Problem problem = problem_of(arguments, channel.size(), data);
  refuse_unsupported(algorithm, arguments, problem);
  const Op op = reduces(collective) ? arguments.op : Op::replace;
  // Only alltoall's count may differ between ranks.
  const std::size_t count = collective == Collective::alltoall ? 0 : data.count;
  const Operation operation(channel,
                            {algorithm.full_name, count, arguments.output.dtype, op,
                             is_rooted(collective) ? arguments.root : -1},
                            algorithm.steps(problem));
  workspace.fill();
  const bool averages = op == Op::average;
  algorithm.execute(channel, workspace.invocation(averages ? Op::sum : op));
  if (averages) divide_block(channel, workspace.result(), channel.size());
  workspace.empty();
}

}  // namespace tutti
