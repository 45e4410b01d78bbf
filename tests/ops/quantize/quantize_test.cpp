// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "libmge/mge.h"
#include "libmge/ops/quantize/quantize.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

Tensor number(float value) { return tensor_of<float>({1}, {value}); }
Tensor zero_point(int32_t value) { return tensor_of<int32_t>({1}, {value}); }

TEST(Quantize, RoundsHalvesAwayFromZeroAndStaysInRange) {
    float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
    Tensor x = tensor_of<float>({9}, {0.25f, 0.75f, -0.25f, -0.75f, 100, -100, nan, inf, -inf});
    EXPECT_THAT(values_of(ops::quantize(x, number(0.5f))),
                ElementsAre(1, 2, -1, -2, 127, -128, -128, 127, -128));
    EXPECT_THAT(values_of(ops::quantize(x, number(0.5f), zero_point(3), {.dtype = DType::u8})),
                ElementsAre(4, 5, 2, 1, 203, 0, 0, 255, 0));
    EXPECT_THAT(values_of(ops::quantize(x, number(0.5f), {}, {.dtype = DType::i8, .lower = -8, .upper = 7})),
                ElementsAre(1, 2, -1, -2, 7, -8, -8, 7, -8));
}

TEST(Quantize, SaturatesAtInt32) {
    Tensor y = ops::quantize(tensor_of<float>({3}, {1e30f, -1e30f, 7}), number(1), {}, {.dtype = DType::i32});
    EXPECT_THAT(values_of(y), ElementsAre(2147483647, -2147483648.0, 7));
}

// -3.75 / 0.3f is above -12.5 in f32, the product with the reciprocal is not.
TEST(Quantize, MultipliesByTheReciprocal) {
    EXPECT_THAT(values_of(ops::quantize(number(-3.75f), number(0.3f))), ElementsAre(-13));
}

TEST(Quantize, RoundsHalvesToEvenOfTheQuotient) {
    ops::Quantize::Params p{.rounding = ops::StepRounding::half_even};
    float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
    Tensor x = tensor_of<float>({9}, {0.25f, 0.75f, -0.25f, -0.75f, 100, -100, nan, inf, -inf});
    EXPECT_THAT(values_of(ops::quantize(x, number(0.5f), {}, p)),
                ElementsAre(0, 2, 0, -2, 127, -128, -128, 127, -128));
    // The even one before the zero point is added.
    p.dtype = DType::u8;
    EXPECT_THAT(values_of(ops::quantize(x, number(0.5f), zero_point(3), p)),
                ElementsAre(3, 5, 3, 1, 203, 0, 0, 255, 0));
    p.dtype = DType::i32;
    EXPECT_THAT(values_of(ops::quantize(tensor_of<float>({3}, {1e30f, -2.5f, 3.5f}), number(1), {}, p)),
                ElementsAre(2147483647, -2, 4));
    p.dtype = DType::i8;
    EXPECT_THAT(values_of(ops::quantize(number(-3.75f), number(0.3f), {}, p)), ElementsAre(-12));
}

TEST(Quantize, HalvesToEvenAgreeWithTheReference) {
    auto even = [](DType dtype) {
        return ops::Quantize::Params{.dtype = dtype, .rounding = ops::StepRounding::half_even};
    };
    for (Shape shape : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 5, 20000}})
        for (DType dtype : {DType::u8, DType::i8, DType::i32})
            for (double zero : {0., 100., 4e6})
                check_op<ops::Quantize>(even(dtype), {{.shape = shape, .low = -20, .high = 20},
                                                      {.shape = {1}, .values = {0.07}},
                                                      {.shape = {1}, .dtype = DType::i32, .values = {zero}}});
    check_op<ops::Quantize>(
        even(DType::i8),
        {{.shape = {2, 3, 4, 5}}, {.shape = {3, 1, 1}, .low = 0.01}, {{3, 1, 1}, -9, 9, DType::i32}});
    // Halves and what is beside them.
    std::vector<double> halves;
    for (int i = -300; i < 300; ++i)
        for (double beside : {-1e-5, 0., 1e-5}) halves.push_back(i / 2. + beside);
    check_op<ops::Quantize>(even(DType::i8),
                            {{.shape = {1800}, .values = halves}, {.shape = {1}, .values = {1}}});
}

// Quotients that are rounded to a half, or just not.
TEST(Quantize, RoundsQuotientsNextToHalvesAsADivisionDoes) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> mantissa(1, 2);
    for (int i = 0; i < 2000; ++i) {
        float scale = i % 4 ? mantissa(random) : std::nextafter(2.f, 0.f) - float(i) * 0x1p-24f;
        scale = std::ldexp(scale, i % 61 - 30);
        std::vector<float> x;
        std::vector<double> steps;
        for (int step = -130; step < 130; ++step) {
            float beside = (float(step) + 0.5f) * scale;
            for (int ulp = 0; ulp < 3; ++ulp) beside = std::nextafter(beside, -HUGE_VALF);
            for (int ulp = 0; ulp < 7; ++ulp, beside = std::nextafter(beside, HUGE_VALF)) {
                x.push_back(beside);
                steps.push_back(std::clamp(std::nearbyint(beside / scale) + 5, -128.f, 127.f));
            }
        }
        ASSERT_EQ(values_of(ops::quantize(tensor_of<float>({int64_t(x.size())}, x), number(scale),
                                          zero_point(5), {.rounding = ops::StepRounding::half_even})),
                  steps)
            << "scale " << scale;
    }
}

TEST(Quantize, HandlesExtremeScales) {
    ops::Quantize::Params p{.rounding = ops::StepRounding::half_even};
    float inf = HUGE_VALF, most = std::numeric_limits<float>::max();
    for (float scale : {0x1p-140f, 0x1p-59f, 0x1p59f, 0x1p120f}) {
        Tensor x = tensor_of<float>({8}, {0, scale, -scale * 2.5f, 3.5f * scale, inf, -inf, most, 0x1p-149f});
        double tiny = std::nearbyint(0x1p-149f / scale), large = std::min(most / scale, 127.f);
        EXPECT_THAT(values_of(ops::quantize(x, number(scale), {}, p)),
                    ElementsAre(0, 1, -2, 4, 127, -128, large, tiny));
    }
}

TEST(Quantize, AgreesWithItsReference) {
    for (Shape shape : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 5, 20000}}) {
        check_op<ops::Quantize>({},
                                {{.shape = shape, .low = -20, .high = 20}, {.shape = {1}, .values = {0.1}}});
        check_op<ops::Quantize>({.dtype = DType::u8}, {{.shape = shape, .low = -20, .high = 20},
                                                       {.shape = {1}, .values = {0.07}},
                                                       {.shape = {1}, .dtype = DType::i32, .values = {100}}});
        check_op<ops::Quantize>({.dtype = DType::i32}, {{.shape = shape}, {.shape = {}, .values = {0.001}}});
    }
    for (Shape scale : {Shape{3}, Shape{1, 3}})
        check_op<ops::Quantize>({},
                                {{.shape = {5, 3}, .low = -20, .high = 20}, {.shape = scale, .low = 0.1}});
    check_op<ops::Quantize>(
        {}, {{.shape = {2, 3, 4, 5}}, {.shape = {3, 1, 1}, .low = 0.01}, {{3, 1, 1}, -9, 9, DType::i32}});
}

TEST(Dequantize, ReturnsRealNumbers) {
    Tensor x = tensor_of<uint8_t>({4}, {0, 100, 101, 255});
    EXPECT_THAT(values_of(ops::dequantize(x, number(0.5f), zero_point(100))), ElementsAre(-50, 0, 0.5, 77.5));
    for (DType dtype : {DType::u8, DType::i8, DType::i32})
        for (Shape shape : {Shape{0}, Shape{7}, Shape{3, 31}, Shape{2, 30000}})
            check_op<ops::Dequantize>({}, {{shape, -100, 100, dtype}, {.shape = {1}, .dtype = DType::f32}});
    check_op<ops::Dequantize>({}, {{{4, 3}, -100, 100, DType::i8},
                                   {.shape = {4, 1}, .dtype = DType::f32},
                                   {{4, 1}, -9, 9, DType::i32}});
}

TEST(Dequantize, RestoresEveryStep) {
    std::vector<int8_t> all(256);
    for (int i = 0; i < 256; ++i) all[size_t(i)] = int8_t(i - 128);
    Tensor steps = tensor_of<int8_t>({256}, all);
    for (float scale : {1.f, 0.1f, 0.03f, 7.7f})
        EXPECT_EQ(values_of(ops::quantize(ops::dequantize(steps, number(scale)), number(scale))),
                  values_of(steps));
}

TEST(Quantize, RejectsMismatchedOperands) {
    auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const UserError& error) {
            return error.what();
        }
        return "nothing";
    };
    Tensor x = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    EXPECT_THAT(message([&] { ops::quantize(x, number(1), {}, {.dtype = DType::i16}); }),
                testing::HasSubstr("quantised values are uint8, int8 or int32, got int16"));
    EXPECT_THAT(message([&] {
                    ops::quantize(x, tensor_of<float>({2}, {1, 2}));
                }),
                testing::HasSubstr("does not broadcast from shape (2,) to (2, 3)"));
    EXPECT_THAT(
        message([&] { ops::quantize(x, number(1), {}, {.dtype = DType::i8, .lower = -8, .upper = 999}); }),
        testing::HasSubstr("[-128, 127], got [-8, 999]"));
    EXPECT_THAT(message([&] {
                    ops::quantize(x, number(1), tensor_of<int32_t>({3}, {1, 2, 3}));
                }),
                testing::HasSubstr("as many zero points as scales"));
    EXPECT_THAT(message([&] { ops::dequantize(x, number(1)); }),
                testing::HasSubstr("quantised values of uint8"));
}

}  // namespace
}  // namespace mge::test
