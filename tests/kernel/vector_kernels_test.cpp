// SPDX-License-Identifier: Apache-2.0
// Vector kernels against plain loops in f64, with nothing of the library around them: the first tests that a
// new instruction set should pass. NaN, infinities and zeros of both signs are among the values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "libmge/kernel/cpu/convolution/depthwise.h"
#include "libmge/kernel/cpu/convolution/pointwise.h"
#include "libmge/kernel/cpu/convolution/pool_kernels.h"
#include "libmge/kernel/cpu/product/small_matmul.h"
#include "libmge/kernel/cpu/reduce/reduce_vectors.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> numbers(int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> any(-2, 2);
    std::vector<float> x(static_cast<size_t>(n));
    std::ranges::generate(x, [&] { return any(random); });
    return x;
}

void expect_near(float actual, double expected, double size, const char* where) {
    if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(actual)) << where;
    } else if (std::isinf(expected)) {
        ASSERT_EQ(actual, expected) << where;
    } else {
        ASSERT_NEAR(actual, expected, size * 1e-6) << where;
    }
}

double activated(Activation activation, double x) {
    switch (activation) {
        case Activation::relu:
            return x > 0 ? x : 0;
        case Activation::relu6:
            return x > 0 ? std::min(x, 6.0) : std::isnan(x) ? 6 : 0;
        case Activation::relu_keeps_nan:
            return x < 0 ? 0 : x;
        case Activation::relu6_keeps_nan:
            return x < 0 ? 0 : x > 6 ? 6 : x;
        case Activation::hswish:
            return x * (x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3) / 6;
        case Activation::silu:
            return x / (1 + std::exp(-x));
        default:
            return x;
    }
}
constexpr Activation activations[] = {Activation::none,
                                      Activation::relu,
                                      Activation::relu6,
                                      Activation::relu_keeps_nan,
                                      Activation::relu6_keeps_nan,
                                      Activation::hswish,
                                      Activation::silu};

// Kernels for blocks of channels have the block of their vectors: 16 for 512 bits, else 8. Found by trying a
// sum of ones, because the function that knows it belongs to the operators.
int64_t block() {
    static const int64_t found = [] {
        std::vector<float> x(size_t(64) * 16, 1), weight(size_t(32) * 16, 1), y(size_t(64) * 16, 0);
        Pointwise shape{.ic = 1, .oc = 1, .pixels = 16};
        pointwise(shape, {x.data(), weight.data(), nullptr, nullptr, y.data()}, 0, shape.items());
        return y[size_t(16) * 8] == 0 ? int64_t(8) : int64_t(16);
    }();
    return found;
}

TEST(VectorKernels, Pointwise) {
    const int64_t b = block(), ic = 21, oc = 2 * b, pixels = 37;
    for (Activation activation : activations) {
        auto x = numbers((ic + b) * pixels, 1), weight = numbers(oc * ic, 2), bias = numbers(oc, 3);
        auto residual = numbers(oc * pixels, 4);
        bias[1] = nan;
        bias[2] = infinity;
        std::vector<float> y(size_t(oc * pixels));
        Pointwise shape{.ic = ic, .oc = oc, .pixels = pixels, .activation = activation};
        pointwise(shape, {x.data(), weight.data(), bias.data(), residual.data(), y.data()}, 0, shape.items());
        for (int64_t o = 0; o < oc; ++o)
            for (int64_t p = 0; p < pixels; ++p) {
                const auto at = size_t((o / b * pixels + p) * b + o % b);
                double sum = double(bias[size_t(o)]) + residual[at];
                for (int64_t i = 0; i < ic; ++i)
                    sum += double(x[size_t((i / b * pixels + p) * b + i % b)]) *
                           weight[size_t((o / b * ic + i) * b + o % b)];
                expect_near(y[at], activated(activation, sum), 200, "pointwise");
            }
    }
}

TEST(VectorKernels, Depthwise) {
    const int64_t b = block(), channels = 2 * b;
    for (int64_t window : {3, 5})
        for (int64_t stride : {1, 2})
            for (Activation activation : activations) {
                if (!Depthwise::has(window, stride)) continue;
                const int64_t in = 13, padding = window / 2, out = (in + 2 * padding - window) / stride + 1;
                auto x = numbers(channels * in * in, 5), weight = numbers(channels * window * window, 6);
                auto bias = numbers(channels, 7);
                bias[1] = nan;
                std::vector<float> y(size_t(channels * out * out));
                Depthwise shape{1,      channels, {in, in},  {out, out}, {padding, padding},
                                window, stride,   activation};
                depthwise(shape, {x.data(), weight.data(), bias.data(), nullptr, y.data()}, 0, shape.rows());
                for (int64_t c = 0; c < channels; ++c)
                    for (int64_t h = 0; h < out; ++h)
                        for (int64_t w = 0; w < out; ++w) {
                            double sum = bias[size_t(c)];
                            for (int64_t i = 0; i < window; ++i)
                                for (int64_t j = 0; j < window; ++j) {
                                    const int64_t row = h * stride - padding + i,
                                                  column = w * stride - padding + j;
                                    if (row < 0 || row >= in || column < 0 || column >= in) continue;
                                    sum += double(x[size_t(((c / b * in + row) * in + column) * b + c % b)]) *
                                           weight[size_t(((c / b * window + i) * window + j) * b + c % b)];
                                }
                            expect_near(y[size_t(((c / b * out + h) * out + w) * b + c % b)],
                                        activated(activation, sum), 100, "depthwise");
                        }
            }
}

TEST(VectorKernels, SmallMatmul) {
    for (int64_t n : {1, 3, 4, 17, 40})
        for (bool is_by_column : {false, true}) {
            const int64_t m = 5, k = 23;
            auto a = numbers(m * k, 8), b = numbers(k * n, 9), bias = numbers(n, 10);
            SmallMatmul shape{m, n, k, k, 1, is_by_column ? 1 : n, is_by_column ? k : 1};
            std::vector<float> y(size_t(m * n));
            small_matmul(shape, {a.data(), b.data(), bias.data(), nullptr, y.data()}, 0, n);
            for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) {
                    double sum = bias[size_t(j)];
                    for (int64_t l = 0; l < k; ++l)
                        sum += double(a[size_t(i * k + l)]) *
                               b[size_t(l * shape.b_stride_k + j * shape.b_stride_n)];
                    expect_near(y[size_t(i * n + j)], sum, 100, "small_matmul");
                }
        }
}

// A row times rows of b that are read side by side: parts of a vector, several strips, rows that fill no
// group.
TEST(VectorKernels, RowTimesContiguousRows) {
    for (int64_t k : {32, 39, 61})
        for (int64_t n : {5, 33, 4096 + 48, 2 * 4096 + 3}) {
            auto a = numbers(k, 8), b = numbers(k * n, 9), bias = numbers(n, 10), residual = numbers(n, 11);
            std::vector<float> y(size_t(n), nan);
            const SmallMatmul shape{1, n, k, k, 1, n, 1};
            // As two threads part the columns.
            const SmallMatmulData data{a.data(), b.data(), bias.data(), residual.data(), y.data()};
            small_matmul(shape, data, 0, n / 2 + 1);
            small_matmul(shape, data, n / 2 + 1, n);
            for (int64_t j = 0; j < n; ++j) {
                double sum = double(bias[size_t(j)]) + residual[size_t(j)];
                for (int64_t l = 0; l < k; ++l) sum += double(a[size_t(l)]) * b[size_t(l * n + j)];
                expect_near(y[size_t(j)], sum, 100, "a row");
            }
        }
}

TEST(VectorKernels, Pooling) {
    for (int64_t inner : {1, 5, 8, 16}) {
        const PoolPlane plane{.h = 9,
                              .w = 11,
                              .inner = inner,
                              .out_w = 5,
                              .kernel_h = 3,
                              .kernel_w = 3,
                              .stride_h = 2,
                              .stride_w = 2};
        auto x = numbers(plane.h * plane.w * inner, 11);
        x[size_t(3 * inner)] = nan;
        std::vector<float> most(size_t(plane.out_w * inner)), mean(most);
        for (int64_t row = 0; row < 4; ++row) {
            pool_kernels().max_row(plane, x.data(), most.data(), row);
            pool_kernels().average_row(plane, x.data(), mean.data(), row);
            for (int64_t w = 0; w < plane.out_w; ++w)
                for (int64_t c = 0; c < inner; ++c) {
                    double largest = -HUGE_VAL, sum = 0;
                    for (int64_t i = 0; i < 3; ++i)
                        for (int64_t j = 0; j < 3; ++j) {
                            const float value = x[size_t(((row * 2 + i) * plane.w + w * 2 + j) * inner + c)];
                            if (value > largest) largest = value;
                            sum += value;
                        }
                    expect_near(most[size_t(w * inner + c)], largest, 1, "max");
                    expect_near(mean[size_t(w * inner + c)], sum / 9, 10, "average");
                }
        }
    }
}

// NaN is ignored, and a zero without a sign is larger than one with it.
uint16_t largest_half(const PoolPlane& plane, const std::vector<uint16_t>& x, int64_t row, int64_t w,
                      int64_t c) {
    float largest = -infinity;
    for (int64_t i = row * plane.stride_h; i < row * plane.stride_h + plane.kernel_h; ++i)
        for (int64_t j = w * plane.stride_w; j < w * plane.stride_w + plane.kernel_w; ++j) {
            const float value(std::bit_cast<BFloat16>(x[size_t((i * plane.w + j) * plane.inner + c)]));
            const bool is_zero_above = value == 0 && largest == 0 && !std::signbit(value);
            if (value > largest || is_zero_above) largest = value;
        }
    return BFloat16(largest).bits;
}

TEST(VectorKernels, PoolingOfHalves) {
    for (int64_t inner : {1, 5, 8, 16, 33}) {
        const PoolPlane plane{.h = 9,
                              .w = 11,
                              .inner = inner,
                              .out_w = 5,
                              .kernel_h = 3,
                              .kernel_w = 3,
                              .stride_h = 2,
                              .stride_w = 2};
        std::vector<uint16_t> x(size_t(plane.h * plane.w * inner));
        std::ranges::transform(numbers(int64_t(x.size()), 11), x.begin(),
                               [](float value) { return BFloat16(value).bits; });
        // Windows of zeros of both signs, of -infinity and NaN, and single ones among numbers.
        std::fill_n(x.begin(), 3 * plane.w * inner, uint16_t(0x8000));
        for (size_t i = 0; i < size_t(plane.w * inner); i += 3) x[i] = 0;
        std::fill_n(x.begin() + 4 * plane.w * inner, 3 * plane.w * inner, uint16_t(0xff80));
        for (size_t i = size_t(4 * plane.w * inner); i < x.size(); i += 5) x[i] = i % 2 ? 0x7fc0 : 0xffc1;
        x[size_t(8 * plane.w * inner)] = 0x7f80;
        std::vector<uint16_t> most(size_t(plane.out_w * inner));
        std::vector<int16_t> columns(size_t(plane.w * inner));
        for (int64_t row = 0; row < 4; ++row) {
            pool_kernels().max_row_half(plane, x.data(), most.data(), row, 0x7f80, columns.data());
            for (int64_t w = 0; w < plane.out_w; ++w)
                for (int64_t c = 0; c < inner; ++c)
                    ASSERT_EQ(most[size_t(w * inner + c)], largest_half(plane, x, row, w, c))
                        << inner << ' ' << row << ' ' << w << ' ' << c;
        }
    }
}

TEST(VectorKernels, ReductionsKeepNan) {
    for (int64_t n : {1, 4, 7, 64, 100})
        for (bool has_nan : {false, true}) {
            auto x = numbers(n, 12);
            if (has_nan) x[size_t(n / 2)] = nan;
            double sum = 0;
            for (float value : x) sum += value;
            auto ends = std::ranges::minmax(x);
            expect_near(reduce_f32(Reduction::sum).run(x.data(), n), sum, 200, "sum");
            expect_near(reduce_f32(Reduction::max).run(x.data(), n), has_nan ? nan : ends.max, 1, "max");
            expect_near(reduce_f32(Reduction::min).run(x.data(), n), has_nan ? nan : ends.min, 1, "min");
        }
}

template <class T>
void check_extremes() {
    std::mt19937 random(3);
    for (int64_t rows : {1, 2, 7})
        for (int64_t n : {1, 8, 15, 16, 32, 64, 100, 256, 300}) {
            std::vector<T> x(static_cast<size_t>(rows * n));
            for (T& value : x) value = T(random());
            std::vector<T> most(x.begin(), x.begin() + n), least = most;
            reduce_integers<T>(Reduction::max).accumulate(most.data(), x.data(), rows, n);
            reduce_integers<T>(Reduction::min).accumulate(least.data(), x.data(), rows, n);
            for (int64_t i = 0; i < n; ++i) {
                T expected_most = x[size_t(i)], expected_least = expected_most;
                for (int64_t row = 1; row < rows; ++row) {
                    expected_most = std::max(expected_most, x[size_t(row * n + i)]);
                    expected_least = std::min(expected_least, x[size_t(row * n + i)]);
                }
                ASSERT_EQ(most[size_t(i)], expected_most) << rows << ' ' << n << ' ' << i;
                ASSERT_EQ(least[size_t(i)], expected_least) << rows << ' ' << n << ' ' << i;
            }
            auto ends = std::ranges::minmax(x);
            const auto count = int64_t(x.size());
            ASSERT_EQ(reduce_integers<T>(Reduction::max).run(x.data(), count), ends.max) << count;
            ASSERT_EQ(reduce_integers<T>(Reduction::min).run(x.data(), count), ends.min) << count;
        }
}
TEST(VectorKernels, FindsExtremesOfIntegers) {
    check_extremes<uint8_t>();
    check_extremes<int8_t>();
    check_extremes<int16_t>();
    check_extremes<int32_t>();
}

TEST(VectorKernels, SoftmaxAndMoments) {
    for (int64_t n : {1, 3, 4, 19, 128})
        for (int special : {0, 1, 2}) {
            auto x = numbers(n, 13);
            x[size_t(n / 2)] = special == 0 ? 80 : special == 1 ? nan : -infinity;
            if (n == 1 && special == 2) continue;
            std::vector<float> y(static_cast<size_t>(n));
            row_kernels().softmax(x.data(), y.data(), n, false);
            double sum = 0, top = *std::ranges::max_element(x);
            for (float value : x) sum += std::exp(value - top);
            for (size_t i = 0; i < x.size(); ++i)
                expect_near(y[i], special == 1 ? nan : std::exp(x[i] - top) / sum, 2, "softmax");
            if (special) continue;
            double mean = 0, squares = 0;
            for (float value : x) mean += value / double(n);
            for (float value : x) squares += (value - mean) * (value - mean) / double(n);
            auto moments = row_kernels().moments(x.data(), n);
            expect_near(moments.mean, mean, 100, "mean");
            expect_near(moments.variance, squares, 1e4, "variance");
        }
}

}  // namespace
}  // namespace mge::cpu
