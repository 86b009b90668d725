// All calls of c10d, for libtorch 1.13 and, as far as known, 2.x.
#include "exec/gloo_module.hpp"

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "exec/clock.hpp"

namespace tutti {
namespace {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return at::kFloat;
    case DType::float64:
      return at::kDouble;
    case DType::float16:
      return at::kHalf;
    case DType::bfloat16:
      return at::kBFloat16;
    case DType::int8:
      return at::kChar;
    case DType::uint8:
      return at::kByte;
    case DType::int32:
      return at::kInt;
    case DType::int64:
      return at::kLong;
  }
  return at::kFloat;
}

c10d::ReduceOp reduce_op(Op op) {
  switch (op) {
    case Op::product:
      return c10d::ReduceOp::PRODUCT;
    case Op::min:
      return c10d::ReduceOp::MIN;
    case Op::max:
      return c10d::ReduceOp::MAX;
    default:
      return c10d::ReduceOp::SUM;
  }
}

// The block itself as a tensor, without a copy.
at::Tensor view(Block block) {
  return at::from_blob(block.data, {static_cast<std::int64_t>(block.count)},
                       at::TensorOptions().dtype(scalar_type(block.dtype)));
}

class Group {
 public:
  explicit Group(const GlooJob& job) : rank_(job.rank), size_(job.ranks) {
    const std::chrono::milliseconds timeout(
        std::llround(std::clamp(job.timeout_seconds * 1e3, 1.0, 1e9)));
    auto store = c10::make_intrusive<c10d::FileStore>(job.store_path, size_);
    store->setTimeout(timeout);
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    // By address, so that neither a network nor a name that resolves is needed.
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank_, size_, options);
  }

  void run(const GlooCase& gloo_case) {
    const Block data = gloo_case.data[static_cast<std::size_t>(rank_)];
    if (gloo_case.collective == Collective::barrier) {
      group_->barrier()->wait();
      return;
    }
    if (data.is_empty()) return;
    switch (gloo_case.collective) {
      case Collective::allreduce:
      case Collective::reduce_scatter:
        return allreduce(data, gloo_case.op);
      case Collective::broadcast:
        return broadcast(data, gloo_case.root);
      case Collective::allgather:
        return allgather(data);
      case Collective::reduce:
        return reduce(data, gloo_case.op, gloo_case.root);
      case Collective::gather:
        return gather(data, gloo_case.root);
      case Collective::scatter:
        return scatter(data, gloo_case.root);
      case Collective::alltoall:
        return alltoall(data);
      case Collective::barrier:
        break;
    }
  }

 private:
  using Tensors = std::vector<at::Tensor>;

  void allreduce(Block data, Op op) {
    Tensors tensors{view(data)};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(op);
    group_->allreduce(tensors, options)->wait();
  }

  void reduce(Block data, Op op, int root) {
    Tensors tensors{view(data)};
    c10d::ReduceOptions options;
    options.reduceOp = reduce_op(op);
    options.rootRank = root;
    group_->reduce(tensors, options)->wait();
  }

  void broadcast(Block data, int root) {
    Tensors tensors{view(data)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    group_->broadcast(tensors, options)->wait();
  }

  void allgather(Block data) {
    std::vector<Tensors> outputs{parts_of(data)};
    Tensors inputs{outputs[0][static_cast<std::size_t>(rank_)]};
    group_->allgather(outputs, inputs)->wait();
    store_parts(data, outputs[0]);
  }

  void gather(Block data, int root) {
    const bool is_root = rank_ == root;
    const Tensors parts = parts_of(data);
    std::vector<Tensors> outputs;
    if (is_root) outputs.push_back(parts);
    Tensors inputs{parts[static_cast<std::size_t>(rank_)]};
    c10d::GatherOptions options;
    options.rootRank = root;
    group_->gather(outputs, inputs, options)->wait();
    if (is_root) store_parts(data, outputs[0]);
  }

  void scatter(Block data, int root) {
    const bool is_root = rank_ == root;
    const Tensors parts = parts_of(data);
    std::vector<Tensors> inputs;
    if (is_root) inputs.push_back(parts);
    Tensors outputs{parts[static_cast<std::size_t>(rank_)]};
    c10d::ScatterOptions options;
    options.rootRank = root;
    group_->scatter(outputs, inputs, options)->wait();
    store_parts(data, parts);
  }

  void alltoall(Block data) {
    at::Tensor output = view(data), input = output.clone();
    std::vector<std::int64_t> equal_splits;
    group_->alltoall_base(output, input, equal_splits, equal_splits)->wait();
  }

  bool has_equal_parts(Block data) const {
    return data.count % static_cast<std::size_t>(size_) == 0;
  }

  // c10d wants tensors of one length. Where the parts are not, they travel padded to the longest.
  Tensors parts_of(Block data) const {
    const auto longest = static_cast<std::int64_t>(data.part(0, size_).count);
    Tensors parts;
    for (int part = 0; part < size_; ++part) {
      const at::Tensor exact = view(data.part(part, size_));
      parts.push_back(has_equal_parts(data) ? exact : at::zeros({longest}, exact.options()));
      if (!has_equal_parts(data)) parts.back().narrow(0, 0, exact.numel()).copy_(exact);
    }
    return parts;
  }

  void store_parts(Block data, const Tensors& parts) const {
    if (has_equal_parts(data)) return;
    for (int part = 0; part < size_; ++part) {
      const at::Tensor exact = view(data.part(part, size_));
      exact.copy_(parts[static_cast<std::size_t>(part)].narrow(0, 0, exact.numel()));
    }
  }

  int rank_;
  int size_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

void run_cases(Group& group, const GlooJob& job) {
  for (const GlooCase& gloo_case : job.cases) {
    const Block data = gloo_case.data[static_cast<std::size_t>(job.rank)];
    const std::vector<std::byte> input(data.data, data.data + data.bytes());
    for (int i = -job.warmup; i < job.iterations; ++i) {
      if (!input.empty()) std::memcpy(data.data, input.data(), input.size());
      job.barrier();
      const double start_seconds = monotonic_seconds();
      group.run(gloo_case);
      if (i >= 0 && job.seconds != nullptr) job.seconds[i] = monotonic_seconds() - start_seconds;
    }
  }
  // A rank that closes its connections while others still use them would disturb them.
  job.barrier();
}

}  // namespace
}  // namespace tutti

extern "C" __attribute__((visibility("default"))) void tutti_gloo_run(const tutti::GlooJob& job,
                                                                      std::string& message) {
  try {
    tutti::Group group(job);
    tutti::run_cases(group, job);
  } catch (const tutti::Error&) {
    throw;
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
  } catch (const std::exception& error) {
    message = error.what();
  }
}
