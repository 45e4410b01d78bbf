// SPDX-License-Identifier: Apache-2.0
#include "libmge/tensor/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace mge {
namespace {

const std::vector<DType> floats{DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::e2m1};
const std::vector<DType> integers{DType::u4, DType::i4, DType::u2, DType::i2};

int codes_of(DType dtype) { return 1 << narrow_width(dtype); }

TEST(Narrow, FollowTheStandards) {
    EXPECT_EQ(narrow_value(DType::e4m3fn, 0x7e), 448);
    EXPECT_EQ(narrow_value(DType::e4m3fn, 0x01), 0x1p-9f);
    EXPECT_EQ(narrow_value(DType::e4m3fn, 0xb8), -1);
    EXPECT_TRUE(std::isnan(narrow_value(DType::e4m3fn, 0xff)));
    EXPECT_EQ(narrow_value(DType::e4m3fnuz, 0x7f), 240);
    EXPECT_EQ(narrow_value(DType::e4m3fnuz, 0x01), 0x1p-10f);
    EXPECT_TRUE(std::isnan(narrow_value(DType::e4m3fnuz, 0x80)));
    EXPECT_EQ(narrow_value(DType::e5m2, 0x7b), 57344);
    EXPECT_EQ(narrow_value(DType::e5m2, 0x01), 0x1p-16f);
    EXPECT_EQ(narrow_value(DType::e5m2, 0xfc), -INFINITY);
    EXPECT_TRUE(std::isnan(narrow_value(DType::e5m2, 0x7d)));
    EXPECT_EQ(narrow_value(DType::e5m2fnuz, 0x7f), 57344);
    EXPECT_TRUE(std::isnan(narrow_value(DType::e5m2fnuz, 0x80)));
    std::vector<float> halves;
    for (int code = 0; code < 8; ++code) halves.push_back(narrow_value(DType::e2m1, uint8_t(code)));
    EXPECT_EQ(halves, (std::vector<float>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
    EXPECT_EQ(narrow_value(DType::e8m0, 0), 0x1p-127f);
    EXPECT_EQ(narrow_value(DType::e8m0, 254), 0x1p127f);
    EXPECT_TRUE(std::isnan(narrow_value(DType::e8m0, 255)));
    EXPECT_EQ(narrow_value(DType::i4, 0x8), -8);
    EXPECT_EQ(narrow_value(DType::i4, 0xff), -1) << "the upper bits count for nothing";
    EXPECT_EQ(narrow_value(DType::u2, 3), 3);
    EXPECT_EQ(narrow_value(DType::i2, 3), -1);
}

TEST(Narrow, EveryValueRoundTrips) {
    for (auto& group : {floats, integers})
        for (DType dtype : group)
            for (int code = 0; code < codes_of(dtype); ++code) {
                float value = narrow_value(dtype, uint8_t(code));
                if (std::isnan(value)) continue;
                auto overflow = std::isinf(value) ? Overflow::escapes : Overflow::saturates;
                EXPECT_EQ(narrow_bits(dtype, value, overflow), code) << dtype;
            }
    for (int code = 0; code < 255; ++code)
        EXPECT_EQ(narrow_bits(DType::e8m0, narrow_value(DType::e8m0, uint8_t(code))), code);
}

// Searches all numbers of the format.
double nearest(DType dtype, double x) {
    double best = 0;
    uint8_t best_code = 0;
    for (int code = 0; code < codes_of(dtype); ++code) {
        double value = narrow_value(dtype, uint8_t(code));
        if (!std::isfinite(value)) continue;
        double distance = std::fabs(value - x), least = std::fabs(best - x);
        if (distance < least || (distance == least && value != best && code % 2 == 0 && best_code % 2))
            best = value, best_code = uint8_t(code);
    }
    return best;
}

TEST(Narrow, RoundsToTheNearest) {
    std::mt19937 random(3);
    for (DType dtype : floats) {
        double largest = nearest(dtype, HUGE_VALF);
        std::uniform_real_distribution<double> exponent(-20, std::log2(largest) + 2);
        for (int i = 0; i < 2000; ++i) {
            double x = std::exp2(exponent(random)) * (i % 2 ? -1 : 1);
            EXPECT_EQ(narrow_value(dtype, narrow_bits(dtype, x)), nearest(dtype, x)) << dtype << ' ' << x;
        }
        for (int code = 0; code + 1 < codes_of(dtype) / 2; ++code) {
            double a = narrow_value(dtype, uint8_t(code)), b = narrow_value(dtype, uint8_t(code + 1));
            if (!std::isfinite(a) || !std::isfinite(b)) continue;
            EXPECT_EQ(narrow_bits(dtype, (a + b) / 2), code + code % 2) << dtype << ": the even one of two";
        }
    }
}

TEST(Narrow, HandlesOverflow) {
    EXPECT_EQ(narrow_bits(DType::e4m3fn, 464.0), 0x7e) << "halfway to the next, which is none";
    EXPECT_EQ(narrow_bits(DType::e4m3fn, 1e9), 0x7e);
    EXPECT_EQ(narrow_bits(DType::e4m3fn, -INFINITY), 0xfe);
    EXPECT_EQ(narrow_bits(DType::e4m3fn, 464.0, Overflow::escapes), 0x7e);
    EXPECT_EQ(narrow_bits(DType::e4m3fn, 465.0, Overflow::escapes), 0x7f);
    EXPECT_EQ(narrow_bits(DType::e5m2, 61439.0, Overflow::escapes), 0x7b);
    EXPECT_EQ(narrow_bits(DType::e5m2, -61440.0, Overflow::escapes), 0xfc);
    EXPECT_EQ(narrow_bits(DType::e5m2, INFINITY), 0x7b);
    EXPECT_EQ(narrow_bits(DType::e5m2fnuz, 1e9, Overflow::escapes), 0x80);
    EXPECT_EQ(narrow_bits(DType::e4m3fnuz, -0.0), 0) << "no -0";
    EXPECT_EQ(narrow_bits(DType::e4m3fn, -0.0), 0x80);
    EXPECT_EQ(narrow_bits(DType::e4m3fn, NAN), 0x7f);
    EXPECT_EQ(narrow_bits(DType::e2m1, 1e9, Overflow::escapes), 0x7) << "it has nothing else";
    EXPECT_EQ(narrow_bits(DType::i4, 17.9), 1) << "integers wrap around";
    EXPECT_EQ(narrow_bits(DType::i4, int64_t(-9)), 7);
    EXPECT_EQ(narrow_bits(DType::u2, NAN), 0);
}

TEST(Narrow, PowersOfTwo) {
    EXPECT_EQ(narrow_bits(DType::e8m0, 1.0), 127);
    EXPECT_EQ(narrow_bits(DType::e8m0, -1.25), 128);
    EXPECT_EQ(narrow_bits(DType::e8m0, 1.25, Overflow::saturates, PowerRounding::down), 127);
    EXPECT_EQ(narrow_bits(DType::e8m0, 1.25, Overflow::saturates, PowerRounding::nearest), 127);
    EXPECT_EQ(narrow_bits(DType::e8m0, 1.5, Overflow::saturates, PowerRounding::nearest), 128);
    EXPECT_EQ(narrow_bits(DType::e8m0, 0x1.8p127), 254);
    EXPECT_EQ(narrow_bits(DType::e8m0, 0x1.8p127, Overflow::escapes), 255);
    EXPECT_EQ(narrow_bits(DType::e8m0, 0.0), 0);
    EXPECT_EQ(narrow_bits(DType::e8m0, INFINITY), 255);
}

}  // namespace
}  // namespace mge
