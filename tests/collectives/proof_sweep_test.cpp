#include <gtest/gtest.h>

#include <string>

#include "tests/collectives/proof_cases.hpp"

namespace tutti {
namespace {

class ProofSweep : public testing::TestWithParam<const Algorithm*> {};

TEST_P(ProofSweep, TheAlgorithmKeepsItsPromise) {
  std::size_t proved = 0;
  for (const int ranks : proof_ranks()) {
    for (const ProofCase& proof_case : proof_cases(*GetParam(), ranks)) {
      SCOPED_TRACE(proof_case.describe());
      ASSERT_NO_THROW(prove(*GetParam(), proof_case));
      ++proved;
    }
  }
  // At least one for every other number of ranks.
  EXPECT_GE(2 * proved, proof_ranks().size());
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ProofSweep, testing::ValuesIn([] {
                           std::vector<const Algorithm*> all;
                           for (const Algorithm& algorithm : catalogue()) all.push_back(&algorithm);
                           return all;
                         }()),
                         [](const auto& entry) { return std::string(entry.param->full_name); });

}  // namespace
}  // namespace tutti
