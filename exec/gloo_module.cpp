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
    if (data.is_empty()) return;
    switch (gloo_case.collective) {
      case Collective::allreduce:
      case Collective::reduce_scatter:
        return allreduce(data, gloo_case.op);
      case Collective::broadcast:
        return broadcast(data, gloo_case.root);
      case Collective::allgather:
        return allgather(data);
    }
  }

 private:
  void allreduce(Block data, Op op) {
    std::vector<at::Tensor> tensors{view(data)};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(op);
    group_->allreduce(tensors, options)->wait();
  }

  void broadcast(Block data, int root) {
    std::vector<at::Tensor> tensors{view(data)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    group_->broadcast(tensors, options)->wait();
  }

  // c10d wants tensors of one length. Where the parts are not, they travel padded to the longest.
  void allgather(Block data) {
    const auto longest = static_cast<std::int64_t>(data.part(0, size_).count);
    const bool is_even = data.count % static_cast<std::size_t>(size_) == 0;
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int part = 0; part < size_; ++part) {
      const at::Tensor exact = view(data.part(part, size_));
      outputs[0].push_back(is_even ? exact : at::zeros({longest}, exact.options()));
      if (!is_even && part == rank_) outputs[0].back().narrow(0, 0, exact.numel()).copy_(exact);
    }
    std::vector<at::Tensor> inputs{outputs[0][static_cast<std::size_t>(rank_)]};
    group_->allgather(outputs, inputs)->wait();
    if (is_even) return;
    for (int part = 0; part < size_; ++part) {
      const at::Tensor exact = view(data.part(part, size_));
      exact.copy_(outputs[0][static_cast<std::size_t>(part)].narrow(0, 0, exact.numel()));
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
