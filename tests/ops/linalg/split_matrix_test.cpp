// SPDX-License-Identifier: Apache-2.0
// f32 products by matrix instructions of bf16, with matrices that change and with constant ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "libmge/kernel/cpu/product/split_product.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/random_tensor.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

struct Extents {
    int64_t m, k, n;
};

// y = a * b, with b constant or not.
struct SplitCase {
    Extents size;
    bool is_constant;
    ops::Matmul::Params params{};
    int threads = 2;
    Tensors inputs{random_tensor({size.m, size.k}), random_tensor({size.k, size.n})};

    float* a() { return inputs[0].data<float>(); }
    float* b() { return inputs[1].data<float>(); }

    Tensor run(std::string_view algorithm, const InPlace* in_place = nullptr) const {
        TensorSpecs specs;
        for (auto& input : inputs) specs.push_back(input.spec());
        const TensorSpec out{DType::f32, {size.m, size.n}, {}};
        Problem problem{.op = ops::Matmul::name,
                        .params = &params,
                        .fields = ops::Matmul::info.fields,
                        .inputs = specs,
                        .outputs = {&out, 1},
                        .constant_inputs = is_constant ? 2u : 0u,
                        .threads = threads};
        for (auto& named : list_candidates(find_kernels(ops::Matmul::info, default_device()), problem))
            if (named.candidate.name == algorithm) return run_candidate(named, problem, inputs, in_place)[0];
        ADD_FAILURE() << algorithm << " is not offered";
        return inputs[0];
    }
    void expect_agreement() const { expect_close(run("split"), run("reference"), size.k, 1, text(size.m)); }
    // Each element's, relative to the sum of the absolute products.
    void expect_small_errors() {
        const Tensor got = run("split");
        for (int64_t i = 0; i < size.m * size.n; ++i) {
            double exact = 0, sum = 0;
            for (int64_t k = 0; k < size.k; ++k) {
                const double product = double(a()[i / size.n * size.k + k]) * b()[k * size.n + i % size.n];
                exact += product;
                sum += std::abs(product);
            }
            constexpr double least = std::numeric_limits<float>::denorm_min();
            ASSERT_NEAR(got.data<float>()[i], exact, 2e-6 * sum + least) << i / size.n << ' ' << i % size.n;
        }
    }
};

// The parameter: whether b is constant.
class SplitMatmul : public testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        if (!cpu::has_split_products()) GTEST_SKIP() << "no matrix instructions";
    }
};

// Panels and steps with a rest, sums of several blocks, blocks of panels, more rows and more columns.
TEST_P(SplitMatmul, AgreesWithTheReference) {
    for (Extents size : {Extents{330, 801, 350}, {700, 129, 257}, {257, 160, 700}})
        for (bool is_transposed : {false, true}) {
            SplitCase c{size, GetParam(), {.activation = Activation::gelu}};
            c.params.transpose_a = c.params.transpose_b = is_transposed;
            if (is_transposed) c.inputs = {random_tensor({size.k, size.m}), random_tensor({size.n, size.k})};
            c.inputs.push_back(random_tensor({size.n}));
            c.inputs.push_back(random_tensor({size.m, size.n}));
            const InPlace in_place{0, 3};
            const Tensor expected = c.run("reference");
            for (auto* place : {static_cast<const InPlace*>(nullptr), &in_place})
                expect_close(c.run("split", place), expected, size.k, 1,
                             text(size.m, ' ', size.k, ' ', size.n));
        }
}

TEST_P(SplitMatmul, HasTheSameBitsWithAnyThreads) {
    SplitCase c{{330, 801, 350}, GetParam()};
    c.a()[200 * 801 + 5] = std::numeric_limits<float>::infinity();
    const Tensor expected = c.run("split");
    for (int threads : {1, 3}) {
        c.threads = threads;
        const Tensor got = c.run("split");
        EXPECT_EQ(std::memcmp(got.data<float>(), expected.data<float>(), 330 * 350 * sizeof(float)), 0);
    }
}

// In the first panel, in one that is packed during products, and in one of the last.
TEST_P(SplitMatmul, ComputesNumbersWithoutPartsAsFloats) {
    using Limits = std::numeric_limits<float>;
    for (float x : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max()})
        for (bool is_in_b : {false, true})
            for (int64_t line : {0, 100, 331}) {
                SplitCase c{{332, 160, 350},
                            GetParam(),
                            {.activation = line ? Activation::relu : Activation::relu_keeps_nan}};
                (is_in_b ? c.b()[40 * 350 + line] : c.a()[line * 160 + 40]) = x;
                c.expect_agreement();
            }
}

// Relative to the result, lines of tiny numbers are as accurate as others beside them.
TEST_P(SplitMatmul, ComputesTinyNumbersAsFloats) {
    for (int64_t line : {0, 100, 331}) {
        SplitCase c{{332, 160, 350}, GetParam()};
        for (int64_t k = 0; k < 160; ++k) c.a()[line * 160 + k] *= 1e-36f;
        const Tensor got = c.run("split"), expected = c.run("reference");
        for (int64_t n = 0; n < 350; ++n)
            ASSERT_NEAR(got.data<float>()[line * 350 + n], expected.data<float>()[line * 350 + n], 1e-41)
                << n;
    }
}

// Factors of the lines of both matrices, and of every third line.
TEST_P(SplitMatmul, IsAsAccurateWithNumbersOfAnySize) {
    struct Factors {
        float a, third_of_a, b, third_of_b;
    };
    for (Factors f : {Factors{1e-18f, 1e-18f, 1e-18f, 1e-18f},
                      {1e-25f, 1e-25f, 1e-10f, 1e-10f},
                      {1e-25f, 1e-25f, 1e25f, 1e25f},
                      {1, 1e-18f, 1, 1e-18f},
                      {1e-10f, 1e-20f, 1e-12f, 1e-14f},
                      {1, 1e-33f, 1, 1},
                      {1, 1, 1, 1e-33f},
                      {1e30f, 1, 1, 1e-2f},
                      {1e30f, 1e-25f, 1e-5f, 1e-5f}}) {
        SplitCase c{{332, 160, 350}, GetParam()};
        for (int64_t i = 0; i < 332 * 160; ++i) c.a()[i] *= i / 160 % 3 ? f.a : f.third_of_a;
        for (int64_t i = 0; i < 160 * 350; ++i) c.b()[i] *= i % 350 % 3 ? f.b : f.third_of_b;
        SCOPED_TRACE(text(f.a, ' ', f.third_of_a, ' ', f.b, ' ', f.third_of_b));
        c.expect_small_errors();
    }
}

// A large number meets a small one beside a larger one, or one of the smallest floats.
TEST_P(SplitMatmul, AddsProductsOfLargeAndSmallNumbers) {
    struct Pairs {
        int a, other_a, b, other_b;  // exponents of two
    };
    for (Pairs p :
         {Pairs{-99, -120, 0, 100}, {0, -149, -110, 20}, {100, -100, -100, 100}, {20, -120, -100, 40}}) {
        SplitCase c{{332, 160, 350}, GetParam()};
        auto scale = [](float& x, int exponent) { x = std::ldexp(1 + std::abs(x), exponent); };
        for (int64_t i = 0; i < 332 * 160; ++i) scale(c.a()[i], i % 160 % 2 ? p.a : p.other_a);
        for (int64_t i = 0; i < 160 * 350; ++i) scale(c.b()[i], i / 350 % 2 ? p.b : p.other_b);
        SCOPED_TRACE(text(p.a, ' ', p.other_a, ' ', p.b, ' ', p.other_b));
        c.expect_small_errors();
    }
}

// Columns and rows that floats compute beside panels of either side that have parts.
TEST_P(SplitMatmul, MixesPanelsWithAndWithoutParts) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (Extents size : {Extents{332, 160, 700}, {700, 160, 332}}) {
        SplitCase c{size, GetParam()};
        for (int64_t column : {3, 40, 331}) c.b()[5 * size.n + column] = infinity;
        for (int64_t row : {0, 200, 331}) c.a()[row * size.k + 7] = infinity;
        c.expect_agreement();
    }
}

TEST_P(SplitMatmul, KeepsZeros) {
    SplitCase c{{332, 160, 350}, GetParam()};
    for (int64_t k = 0; k < 160; ++k) c.a()[k] = k % 2 ? 0.0f : -0.0f;
    const Tensor got = c.run("split");
    for (int64_t n = 0; n < 350; ++n) EXPECT_EQ(got.data<float>()[n], 0);
}

INSTANTIATE_TEST_SUITE_P(Matmul, SplitMatmul, testing::Bool());

}  // namespace
}  // namespace mge::test
