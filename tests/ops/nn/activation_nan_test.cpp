// SPDX-License-Identifier: Apache-2.0
// NaN and infinities before the activation of a convolution or a product: every algorithm gives what the
// elementwise operator gives.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/ops/nn/images.h"

namespace mge::test {
namespace {

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();

constexpr Activation activations[] = {
    Activation::relu, Activation::relu6,   Activation::relu_keeps_nan, Activation::relu6_keeps_nan,
    Activation::silu, Activation::hswish,  Activation::gelu,           Activation::tanh,
    Activation::none, Activation::sigmoid,
};

// The elementwise operators' rules for what is special.
float special_value(Activation activation, float sum) {
    switch (activation) {
        case Activation::relu:
            return std::isnan(sum) ? 0 : std::max(sum, 0.f);
        case Activation::relu6:
            return std::isnan(sum) ? 6 : std::min(std::max(sum, 0.f), 6.f);
        case Activation::relu_keeps_nan:
            return std::isnan(sum) ? sum : std::max(sum, 0.f);
        case Activation::relu6_keeps_nan:
            return std::isnan(sum) ? sum : std::min(std::max(sum, 0.f), 6.f);
        case Activation::sigmoid:
            return std::isnan(sum) ? sum : sum > 0;
        case Activation::tanh:
            return std::isnan(sum) ? sum : std::copysign(1.f, sum);
        case Activation::none:
            return sum;
        default:  // x times a bounded function of x
            return sum > 0 ? sum : nan_value;
    }
}

bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_special_values(const Tensor& sums, const Tensor& y, Activation activation,
                           const std::string& what) {
    const std::vector<double> all_sums = values_of(sums), all_got = values_of(y);
    int count = 0;
    for (size_t i = 0; i < all_sums.size(); ++i) {
        const auto sum = float(all_sums[i]), got = float(all_got[i]);
        if (std::isfinite(sum)) {
            EXPECT_TRUE(std::isfinite(got)) << what << ' ' << sum << " gives " << got;
            continue;
        }
        ++count;
        float expected = special_value(activation, sum);
        EXPECT_TRUE(is_same(got, expected)) << what << ' ' << sum << " gives " << got << ", not " << expected;
    }
    EXPECT_GT(count, 0);
}

// Special values come from bias and residual, which no algorithm mixes with other places.
Tensor with_special_values(const Shape& shape, int64_t step) {
    Tensor t = random_tensor(shape);
    auto* values = t.data<float>();
    // The bits of one NaN overflow when they are rounded as a number.
    const float special[] = {nan_value, infinity, -infinity, std::bit_cast<float>(0x7fffffffu)};
    for (int64_t i = 1, k = 0; i < shape.numel(); i += step) values[i] = special[k++ % 4];
    return t;
}

template <class Op>
std::vector<NamedCandidate> candidates_of(const Problem& problem) {
    return list_candidates(find_kernels(Op::info, default_device()), problem);
}

// All algorithms for operands in a layout, those that round f32 to bf16 among them. The residual may be
// overwritten by the result.
template <class Op>
void expect_all_algorithms(typename Op::Params params, DType dtype, Tensors inputs, const Layout& layout,
                           bool has_residual) {
    TensorSpecs plain, specs;
    Tensors laid_out;
    for (Tensor& t : inputs) t = ops::convert(t, {.dtype = dtype});
    for (size_t i = 0; i < inputs.size(); ++i) {
        bool is_image = !layout.is_plain() && (i == 0 || i == 3);
        laid_out.push_back(is_image ? reordered(inputs[i], layout) : inputs[i]);
        plain.push_back(inputs[i].spec());
        specs.push_back(laid_out[i].spec());
    }
    params.activation = Activation::none;
    TensorSpecs out = Op::infer(params, plain);
    Problem sum_problem{Op::name, &params, Op::info.fields, plain, out};
    Tensor sums = run_candidate(candidates_of<Op>(sum_problem).back(), sum_problem, inputs)[0];
    out[0].layout = layout;
    constexpr InPlace in_place{0, 3};
    for (auto activation : activations) {
        params.activation = activation;
        for (uint32_t constants : {2u, 0u})
            for (int threads : {1, 2}) {
                Problem problem{Op::name, &params, Op::info.fields, specs, out, constants};
                problem.threads = threads;
                problem.precision = Precision::relaxed;
                for (auto& named : candidates_of<Op>(problem)) {
                    auto what =
                        text(dtype, ' ', named.candidate.name, ' ', layout.name(), ' ', int(activation));
                    Tensor y = run_candidate(named, problem, laid_out, has_residual ? &in_place : nullptr)[0];
                    expect_special_values(sums, layout.is_plain() ? y : reordered(y, {}), activation, what);
                }
            }
    }
}

TEST(FusedActivations, ConvolutionsHandleNanAndInfinity) {
    const ConvCase cases[] = {
        {{1, 32, 14, 14}, {32, 32, 3, 3}, {.padding = {1, 1}}},
        {{1, 16, 7, 7}, {32, 16, 1, 1}, {}},
        {{1, 3, 12, 12}, {16, 3, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
        {{1, 48, 5, 6}, {48, 1, 1, 3, 3}, {.padding = {1, 1}, .groups = 48}},
        {{2, 2, 6, 7}, {7, 2, 3, 3}, {.padding = {1, 1}}},
    };
    for (auto& c : cases)
        for (bool has_residual : {false, true}) {
            Tensor x = random_tensor(c.x), weight = random_tensor(c.weight);
            TensorSpec plain[] = {x.spec(), weight.spec()};
            Shape shape = ops::Conv2d::infer(c.params, plain).at(0).shape;
            Tensors inputs{x, weight, with_special_values({1, shape[1], 1, 1}, 2)};
            if (has_residual) {
                inputs[2] = random_tensor({1, shape[1], 1, 1});
                inputs.push_back(with_special_values(shape, 17));
            }
            for (std::string_view name : {std::string_view("nchw"), channel_blocks()})
                expect_all_algorithms<ops::Conv2d>(c.params, DType::f32, inputs, Layout::named(name),
                                                   has_residual);
            expect_all_algorithms<ops::Conv2d>(c.params, DType::bf16, inputs, Layout::named("nhwc"),
                                               has_residual);
        }
}

TEST(FusedActivations, ProductsHandleNanAndInfinity) {
    for (Shape shape : {Shape{1, 24}, Shape{5, 24}, Shape{64, 64}})
        for (bool has_residual : {false, true}) {
            Tensors inputs{random_tensor(shape), random_tensor({shape[1], 40}), with_special_values({40}, 3)};
            if (has_residual) {
                inputs[2] = random_tensor({40});
                inputs.push_back(with_special_values({shape[0], 40}, 7));
            }
            for (DType dtype : {DType::f32, DType::bf16})
                expect_all_algorithms<ops::Matmul>({}, dtype, inputs, {}, has_residual);
        }
}

}  // namespace
}  // namespace mge::test
