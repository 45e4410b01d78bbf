// SPDX-License-Identifier: Apache-2.0
// Remembered fingerprints of constants.
#include <gtest/gtest.h>

#include "libmge/kernel/constant_prints.h"
#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr int64_t count = 10000;
constexpr size_t bytes = count * 4;

TEST(ConstantPrints, LiveAsLongAsTheConstants) {
    const std::vector<float> values(count);
    Tensor large = constant({count}, values), other = constant({count}, values);
    const Fingerprint print{1, 2};
    auto prints = std::make_unique<ConstantPrints>(Tensors{large});
    EXPECT_FALSE(ConstantPrints::find(large.address(), bytes));
    ConstantPrints::note(large.address(), bytes, print);
    ConstantPrints::note(other.address(), bytes, print);
    EXPECT_EQ(ConstantPrints::find(large.address(), bytes), print);
    EXPECT_FALSE(ConstantPrints::find(large.address(), bytes / 2));
    EXPECT_FALSE(ConstantPrints::find(other.address(), bytes)) << "nobody keeps its memory";
    auto more = std::make_unique<ConstantPrints>(Tensors{large, large, {}});
    prints = nullptr;
    EXPECT_EQ(ConstantPrints::find(large.address(), bytes), print);
    more = nullptr;
    EXPECT_FALSE(ConstantPrints::find(large.address(), bytes));
}

}  // namespace
}  // namespace mge::test
