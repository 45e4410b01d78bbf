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

// Beside larger numbers of their line they lose parts that are below 2^-126.
TEST_P(SplitMatmul, CountsSubnormalPartsAsZeros) {
    SplitCase c{{332, 160, 350}, GetParam()};
    for (int64_t k = 0; k < 160; ++k) c.a()[k] = k ? 1e-38f : 1e-28f;
    const Tensor got = c.run("split"), expected = c.run("reference");
    for (int64_t n = 0; n < 350; ++n) {
        double size = 0;
        for (int64_t k = 0; k < 160; ++k) size += std::abs(c.b()[k * 350 + n]);
        const double y = expected.data<float>()[n];
        EXPECT_NEAR(got.data<float>()[n], y, std::ldexp(size, -125) + 1e-6 * std::abs(y));
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
