#include <algorithm>
#include <array>

#include "collectives/entries.hpp"
#include "collectives/forms.hpp"
#include "collectives/scatter_allgather.hpp"

namespace tutti {
namespace {

// The same problem among ranks renumbered from the root on.
Problem from_root(const Problem& problem) {
  return {problem.ranks, problem.count, problem.element_bytes, 0, problem.tuning};
}

const Algorithm& scatter() {
  static const Algorithm& algorithm = find_algorithm(Collective::scatter, "binomial");
  return algorithm;
}

const Algorithm& ring() {
  static const Algorithm& algorithm = find_algorithm(Collective::allgather, "ring");
  return algorithm;
}

const Algorithm& recursive_doubling() {
  static const Algorithm& algorithm = find_algorithm(Collective::allgather, "recursive_doubling");
  return algorithm;
}

// Some rank is last in the scatter and from then on waits in every step of the allgather.
template <const Algorithm& (*allgather)()>
int steps(const Problem& problem) {
  return scatter().steps(from_root(problem)) + allgather().steps(from_root(problem));
}

template <const Algorithm& (*allgather)()>
Messages messages(const Problem& problem) {
  return messages_of(scatter(), from_root(problem)) += messages_of(allgather(), from_root(problem));
}

template <const Algorithm& (*allgather)()>
std::size_t bytes_sent(const Problem& problem, int rank) {
  const int v = (rank - problem.root + problem.ranks) % problem.ranks;
  return scatter().bytes_sent(from_root(problem), v) +
         allgather().bytes_sent(from_root(problem), v);
}

template <const Algorithm& (*allgather)()>
double seconds(const Problem& problem, const CostModel& model) {
  return scatter().seconds(from_root(problem), model) +
         allgather().seconds(from_root(problem), model);
}

// Where both are, one after the other is: with equal parts.
template <const Algorithm& (*allgather)()>
Form form(const Problem& problem) {
  return allgather().form(from_root(problem)) == Form::exact ? exact_for_equal_parts(problem)
                                                             : Form::bound;
}

constexpr std::array entries = {
    Algorithm{
        .collective = Collective::broadcast,
        .name = "scatter_ring",
        .full_name = "broadcast_scatter_ring",
        .execute = [](Channel& c,
                      const Invocation& i) { broadcast_scatter_ring(c, i.data.whole(), i.root); },
        .steps = steps<ring>,
        .messages = messages<ring>,
        .bytes_sent = bytes_sent<ring>,
        .seconds = seconds<ring>,
        .form = form<ring>,
        .steps_formula = "L + N-1",
        .bytes_formula = "2(N-1)/N n",
        .seconds_formula = "(L + N-1)a + 2(N-1)/N n b",
        .source = thakur,
    },
    Algorithm{
        .collective = Collective::broadcast,
        .name = "scatter_recursive_doubling",
        .full_name = "broadcast_scatter_recursive_doubling",
        .execute =
            [](Channel& c, const Invocation& i) {
              broadcast_scatter_recursive_doubling(c, i.data.whole(), i.root);
            },
        .steps = steps<recursive_doubling>,
        .messages = messages<recursive_doubling>,
        .bytes_sent = bytes_sent<recursive_doubling>,
        .seconds = seconds<recursive_doubling>,
        .form = form<recursive_doubling>,
        .steps_formula = "2 log2 N, or L + floor(log2 N) + 2",
        .bytes_formula = "2(N-1)/N n, n more where N is no power of two",
        .seconds_formula = "2 log2 N a + 2(N-1)/N n b, or 2a + n b more",
        .source = thakur,
    },
};

}  // namespace

std::span<const Algorithm> scatter_allgather_entries() {
  return entries;
}

}  // namespace tutti
