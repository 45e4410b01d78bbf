// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/times_double.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mge::cpu {
namespace {

TEST(TimesDouble, RoundsOnce) {
    // In float, a third would be rounded before the product.
    constexpr double factor = 1.0 / 3;
    for (int64_t n = 0; n < 40; ++n) {
        std::vector<float> x, expected, y(size_t(n) + 1, -1);
        for (int64_t i = 0; i < n; ++i) x.push_back(float(i * 7919 % 1009) * 0.37f - 150);
        for (float value : x) expected.push_back(float(double(value) * factor));
        expected.push_back(-1);  // not written
        times_double()(x.data(), factor, y.data(), n);
        EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0) << n;
    }
}

}  // namespace
}  // namespace mge::cpu
