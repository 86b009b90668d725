#include "tests/collectives/exercise.hpp"

#include <numeric>

#include "tests/support/blocks.hpp"

namespace tutti {
namespace {

double contribution(int rank, std::size_t index) {
  return 1000.0 * (rank + 1) + static_cast<double>(index);
}

// The index of `part`'s first element in `whole`.
std::size_t begin_of(Block whole, Block part) {
  return static_cast<std::size_t>(part.data - whole.data) / bytes_of(whole.dtype);
}

}  // namespace

std::size_t Exercise::count() const {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

void Exercise::fill(Block whole, int rank) const {
  for (std::size_t i = 0; i < whole.count; ++i) set_element(whole, i, -1);
  const Block input = division().input_of(whole, rank);
  const std::size_t begin = begin_of(whole, input);
  for (std::size_t i = 0; i < input.count; ++i) {
    set_element(input, i, contribution(rank, begin + i));
  }
}

testing::AssertionResult Exercise::has_result(Block result, int rank) const {
  // A buffer that is never read, to find out where parts lie.
  std::vector<std::byte> memory((count() + 1) * bytes_of(result.dtype));
  const Block whole{memory.data(), count(), result.dtype};
  const Division parts = division();
  const std::size_t begin = begin_of(whole, parts.result_of(whole, rank));
  std::vector<double> expected(whole.count);
  if (reduces(collective)) {
    for (int from = 0; from < size(); ++from) {
      for (std::size_t i = 0; i < whole.count; ++i) expected[i] += contribution(from, i);
    }
  } else {
    const bool is_gathered =
        collective != Collective::broadcast && collective != Collective::scatter;
    for (int i = 0; i < size(); ++i) {
      const std::size_t first = begin_of(whole, parts.parts_of(whole, rank)[i]);
      const int from = is_gathered ? i : root;
      // Where in its sender's buffer the part begins.
      const std::size_t sent = collective == Collective::alltoall
                                   ? begin_of(whole, parts.parts_of(whole, from)[rank])
                                   : first;
      const std::size_t length = parts.parts_of(whole, rank)[i].count;
      for (std::size_t k = 0; k < length; ++k) {
        expected[first + k] = contribution(from, sent + k);
      }
    }
  }
  for (std::size_t i = 0; i < result.count; ++i) {
    if (element(result, i) == expected[begin + i]) continue;
    return testing::AssertionFailure()
           << "rank " << rank << " of " << size() << ": element " << begin + i << " is "
           << element(result, i) << ", expected " << expected[begin + i];
  }
  return testing::AssertionSuccess();
}

}  // namespace tutti
