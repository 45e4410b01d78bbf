// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/digit_row.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/mge.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre, testing::HasSubstr;
using Params = ops::CompressedMatmul::Params;

struct Sizes {
    Shape x;  // but for the last axis
    int64_t columns, rows;
};

Tensor filled(DType dtype, const Shape& shape) {
    return make_tensor(dtype, shape, std::vector<double>(size_t(shape.numel()), 1));
}

// Steps of all values, scales that leave sums near 1.
std::vector<InputSpec> inputs_of(const Sizes& s, const Params& p, bool has_zeros, bool has_sums) {
    const int64_t in_byte = 8 / p.bits, whole = (s.columns + in_byte - 1) / in_byte * in_byte;
    const int64_t group = p.group ? p.group : whole, groups = (s.columns + group - 1) / group;
    Shape x = s.x, y = s.x;
    x.push_back(s.columns);
    y.push_back(s.rows);
    const double last = double((1 << p.bits) - 1);
    InputSpec zeros{.shape = {s.rows, groups}, .low = 0, .high = last, .dtype = DType::u8};
    InputSpec bias{.shape = {s.rows}}, residual{.shape = y};
    zeros.absent = !has_zeros;
    bias.absent = residual.absent = !has_sums;
    return {{.shape = x},
            {.shape = {s.rows, groups * group / in_byte}, .low = 0, .high = 255, .dtype = DType::u8},
            {.shape = {s.rows, groups}, .low = 0.5 / last, .high = 2 / last, .differentiate = false},
            zeros,
            bias,
            residual};
}

TEST(CompressedMatmul, MultipliesRowsWithRows) {
    Tensor x = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    Tensor steps = tensor_of<uint8_t>({2, 3}, {129, 128, 128, 128, 130, 127});
    Tensor scale = tensor_of<float>({2, 1}, {10, 0.5});
    Tensor y = ops::compressed_matmul({x, steps, scale}, {});
    EXPECT_THAT(values_of(y), ElementsAre(10, 0.5, 40, 2));
    Tensor bias = tensor_of<float>({2}, {-20, 1}), residual = tensor_of<float>({2, 2}, {0, 1, 2, 3});
    y = ops::compressed_matmul({x, steps, scale, {}, bias, residual}, {.activation = Activation::relu});
    EXPECT_THAT(values_of(y), ElementsAre(0, 2.5, 22, 6));
}

TEST(CompressedMatmul, AgreesWithTheReference) {
    for (int64_t bits : {8, 4})
        for (const Sizes& s : {Sizes{{}, 33, 5},
                               {{1}, 64, 70},
                               {{3}, 131, 9},
                               {{2, 2}, 16, 4},
                               {{17}, 40, 67},
                               {{5, 7}, 65, 130}})
            for (int64_t group : {0, 16, 64})
                for (bool has_sums : {false, true}) {
                    SCOPED_TRACE(
                        text(bits, " bits in groups of ", group, ", x ", s.x, ", ", s.rows, " rows"));
                    const Params p{bits, group, has_sums ? Activation::gelu : Activation::none};
                    check_op<ops::CompressedMatmul>(p, inputs_of(s, p, group == 16, has_sums),
                                                    {.reduction = s.columns, .gradient = !has_sums});
                }
}

// Groups of whole vectors, whose scales and zero points apply to sums.
TEST(CompressedMatmul, AgreesWithTheReferenceForOneRow) {
    for (int64_t bits : {8, 4})
        for (int64_t columns : {32, 96, 1024})
            for (bool has_zeros : {false, true}) {
                SCOPED_TRACE(text(bits, " bits, ", columns, " columns, zero points ", has_zeros));
                const Params p{bits, 32};
                check_op<ops::CompressedMatmul>(p, inputs_of({{1}, columns, 7}, p, has_zeros, false),
                                                {.reduction = columns, .gradient = false});
            }
}

// One row as integers: groups of parts of a block, of a block and of several, and rows that fill no tile.
TEST(CompressedMatmul, AgreesWithTheReferenceForOneRowOfDigits) {
    for (int64_t bits : {8, 4})
        for (int64_t group : {32, 64, 128, 256})
            for (int64_t rows : {1, 4, 23}) {
                SCOPED_TRACE(text(bits, " bits in groups of ", group, ", ", rows, " rows"));
                const Params p{bits, group, Activation::relu};
                const CompressedWeight weight{rows, 768, group, int(bits)};
                EXPECT_EQ(cpu::has_digit_rows(weight), cpu_isa() >= Isa::avx512_vnni && cpu::has_quads());
                check_op<ops::CompressedMatmul>(p, inputs_of({{1}, 768, rows}, p, false, true),
                                                {.reduction = 768, .gradient = false});
            }
}

// Magnitudes of a group have no influence on the other groups, and sums with numbers that are not finite are
// not.
TEST(CompressedMatmul, MultipliesARowOfAnyMagnitudes) {
    for (int64_t bits : {8, 4}) {
        const int64_t columns = 256, group = 32;
        auto product = [=](float first, float rest) {
            std::vector<float> x(size_t(columns), rest);
            std::fill_n(x.begin(), group, first);
            Tensor steps = filled(DType::u8, {4, columns * bits / 8}),
                   scale = filled(DType::f32, {4, columns / group});
            return values_of(
                ops::compressed_matmul({tensor_of<float>({1, columns}, x), steps, scale}, {bits, group}))[0];
        };
        // A step of 4 bits is 1 or 0 in turns.
        const float sum = float(group) * (bits == 8 ? -127.0F : -7.5F);
        EXPECT_FLOAT_EQ(float(product(1e20F, 0)), 1e20F * sum);
        EXPECT_FLOAT_EQ(float(product(0, 1e-20F)), 7e-20F * sum);
        EXPECT_FLOAT_EQ(float(product(1e-36F, 1)), 7 * sum);
        EXPECT_EQ(product(0, 0), 0);
        EXPECT_FALSE(std::isfinite(product(std::numeric_limits<float>::infinity(), 1)));
        EXPECT_TRUE(std::isnan(product(std::numeric_limits<float>::quiet_NaN(), 1)));
    }
}

// Products of small numbers with small scales are as exact as others.
TEST(CompressedMatmul, MultipliesARowOfSmallNumbersWithSmallScales) {
    constexpr int64_t columns = 128, group = 32;
    constexpr std::pair<float, float> factors[] = {
        {0x1p-99F, 0x1p-29F}, {1e-30F, 1e-6F}, {0x1p-60F, 0x1p-40F}};
    for (int64_t bits : {8, 4})
        for (auto [x, scale] : factors) {
            Tensor row = make_tensor(DType::f32, {1, columns}, std::vector<double>(columns, x));
            Tensor steps =
                make_tensor(DType::u8, {1, columns * bits / 8}, std::vector<double>(columns * bits / 8, 255));
            Tensor scales =
                make_tensor(DType::f32, {1, columns / group}, std::vector<double>(columns / group, scale));
            const double step = bits == 8 ? 127 : 7, expected = columns * step * double(x) * scale;
            const double y = values_of(ops::compressed_matmul({row, steps, scales}, {bits, group}))[0];
            EXPECT_NEAR(y / expected, 1, 1e-6) << bits << " bits, " << x << " times " << scale;
        }
}

// Blocks of weights with a smaller last one; more rows of x than are multiplied directly.
TEST(CompressedMatmul, AgreesWithTheReferenceInBlocks) {
    for (int64_t bits : {8, 4}) {
        const Params p{bits, 32, Activation::relu};
        check_op<ops::CompressedMatmul>(p, inputs_of({{18}, 2048, 300}, p, true, true),
                                        {.reduction = 2048, .gradient = false});
    }
}

TEST(CompressedMatmul, AcceptsZeroRows) {
    const Params p{.bits = 8};
    check_op<ops::CompressedMatmul>(p, inputs_of({{0}, 8, 3}, p, false, false));
    check_op<ops::CompressedMatmul>(p, inputs_of({{4}, 8, 0}, p, false, false));
}

TEST(CompressedMatmul, HasGradientsOfInputAndAddends) {
    for (int64_t bits : {8, 4}) {
        const Params p{bits, 4};
        check_op<ops::CompressedMatmul>(p, inputs_of({{2, 3}, 10, 5}, p, true, true), {.reduction = 10});
    }
}

TEST(CompressedMatmul, RejectsMismatchedShapes) {
    auto steps = filled(DType::u8, {4, 6}), scale = filled(DType::f32, {4, 1});
    auto multiply = [=](const Tensor& x, const Tensor& bias, const Tensor& residual) {
        return error_of([&] { ops::compressed_matmul({x, steps, scale, {}, bias, residual}, {}); });
    };
    auto f32 = [](const Shape& shape) { return filled(DType::f32, shape); };
    EXPECT_THAT(multiply(filled(DType::f16, {2, 6}), {}, {}), HasSubstr("x must be float32"));
    EXPECT_THAT(multiply(f32({}), {}, {}), HasSubstr("x must have rows"));
    EXPECT_THAT(multiply(f32({2, 5}), {}, {}), HasSubstr("its steps must be uint8 of shape (4, 5)"));
    EXPECT_THAT(multiply(f32({2, 6}), f32({3}), {}),
                HasSubstr("its bias must have one float32 value for each of the 4"));
    EXPECT_THAT(multiply(f32({2, 6}), {}, f32({4})),
                HasSubstr("its residual must be float32 of the result's shape (2, 4)"));
}

}  // namespace
}  // namespace mge::test
