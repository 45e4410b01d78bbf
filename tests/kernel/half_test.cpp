// SPDX-License-Identifier: Apache-2.0
// The vectorised conversions against the scalar ones, for every half there is.
#include "libmge/kernel/cpu/rows/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace mge::cpu {
namespace {

bool is_same(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

template <class H>
class Halves : public testing::Test {};
using HalfTypes = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(Halves, HalfTypes);

TYPED_TEST(Halves, WidenAndNarrowAllValues) {
    std::vector<TypeParam> all(65536), back(65536);
    for (size_t i = 0; i < all.size(); ++i) all[i].bits = uint16_t(i);
    std::vector<float> wide(all.size());
    halves_to_floats(all.data(), wide.data(), int64_t(all.size()));
    floats_to_halves(wide.data(), back.data(), int64_t(all.size()));
    for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_TRUE(is_same(wide[i], float(all[i]))) << i;
        ASSERT_TRUE(std::isnan(wide[i]) ? std::isnan(float(back[i])) : back[i].bits == all[i].bits) << i;
    }
}

// Between two neighbours: to the nearer one, from the middle to the even one.
TYPED_TEST(Halves, RoundAsTheScalarConversion) {
    std::vector<float> values;
    for (uint32_t bits = 0; bits < 0xfff00000; bits += 0x00000fff)
        values.push_back(std::bit_cast<float>(bits));
    for (uint32_t bits = 0x38000000; bits < 0x38100000; bits += 0x800)  // exactly in the middle
        values.push_back(std::bit_cast<float>(bits));
    std::vector<TypeParam> narrow(values.size());
    floats_to_halves(values.data(), narrow.data(), int64_t(values.size()));
    for (size_t i = 0; i < values.size(); ++i)
        ASSERT_TRUE(is_same(float(narrow[i]), float(TypeParam(values[i])))) << values[i];
}

}  // namespace
}  // namespace mge::cpu
