// SPDX-License-Identifier: Apache-2.0
// Vector loops leave the x87 unit to the rest of the process: MMX registers are its registers.
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

TEST(VectorLoops, KeepLongDoubles) {
    volatile long double one = 1, two = 2;
    for (int64_t n : {1, 3, 5, 7, 1031}) {
        Tensor x = constant({n}, std::vector<float>(size_t(n), 0.5f));
        Tensor y = constant({1}, {2.f});
        for (auto& [a, b] : {std::pair{x, x}, {x, y}, {y, x}}) {
            ops::add(a, b), ops::sub(a, b), ops::mul(a, b), ops::div(a, b), ops::pow(a, b);
            ops::less(a, b), ops::equal(a, b), ops::maximum(a, b), ops::atan2(a, b);
            EXPECT_EQ(one + two, 3) << n;
        }
    }
}

}  // namespace
}  // namespace mge::test
