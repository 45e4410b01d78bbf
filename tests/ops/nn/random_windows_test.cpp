// SPDX-License-Identifier: Apache-2.0
// Convolutions and pools by every algorithm, in every layout, beside the reference on plain images.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ops/nn/images.h"
#include "tests/ops/random_convolution.h"

namespace mge::test {
namespace {

// All candidates for operands in the layouts `layouts`, the last one that of the result.
template <class Op>
void expect_all_alike(const typename Op::Params& params, const Tensors& plain,
                      const std::vector<std::string>& layouts, uint32_t constant, int threads,
                      int64_t reduction, Precision precision = Precision::strict) {
    TensorSpecs outputs = Op::infer(params, specs_of(plain));
    Tensor expected = by_reference<Op>(params, plain)[0];
    Tensors inputs = plain;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && !layouts[i].empty()) inputs[i] = reordered(inputs[i], Layout::named(layouts[i]));
    TensorSpecs specs = specs_of(inputs);
    if (!layouts.back().empty()) outputs[0].layout = Layout::named(layouts.back());
    Problem problem{Op::name, &params, Op::info.fields, specs, outputs, constant};
    problem.threads = threads;
    problem.precision = precision;
    for_each_algorithm(Op::info, problem, inputs, [&](const Tensors& y, const std::string& what) {
        expect_close(layouts.back().empty() ? y[0] : reordered(y[0], {}), expected, reduction, 4, what);
    });
}

TEST(RandomWindows, Convolutions) {
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        RandomConvolution c = random_convolution(choice);
        c.params.activation =
            choice.of<Activation>({Activation::none, Activation::none, Activation::relu, Activation::relu6,
                                   Activation::hswish, Activation::silu, Activation::sigmoid});
        DType dtype = choice.of<DType>({DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16});
        Precision precision = choice.of<Precision>({Precision::strict, Precision::relaxed, Precision::fast});
        Tensor x = random_factors(c.x, dtype, precision), weight = random_factors(c.weight, dtype, precision);
        TensorSpec two[] = {x.spec(), weight.spec()};
        Shape shape = ops::Conv2d::infer(c.params, two)[0].shape;
        Tensors plain{x, weight};
        bool has_residual = choice.flip();
        if (has_residual || choice.flip()) plain.push_back(random_tensor({1, shape[1], 1, 1}, dtype));
        if (has_residual) plain.push_back(random_tensor(shape, dtype));
        std::string from = choice.of(layout_names), to = choice.flip() ? from : choice.of(layout_names);
        std::vector<std::string> layouts{from, "", "", to};
        layouts.resize(plain.size());
        layouts.push_back(to);
        expect_all_alike<ops::Conv2d>(c.params, plain, layouts, choice.of<uint32_t>({0, 2, 6}),
                                      int(choice.between(1, 3)), weight.spec().numel() / c.weight[0],
                                      precision);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(RandomWindows, GradientsOfConvolutions) {
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        RandomConvolution c = random_convolution(choice);
        DType dtype = choice.of<DType>({DType::f32, DType::f32, DType::f16});
        Tensor x = random_tensor(c.x, dtype), weight = random_tensor(c.weight, dtype);
        TensorSpec two[] = {x.spec(), weight.spec()};
        Tensor dy = random_tensor(ops::Conv2d::infer(c.params, two)[0].shape, dtype);
        std::string from = choice.of(layout_names), to = choice.flip() ? from : choice.of(layout_names);
        auto& p = c.params;
        expect_all_alike<ops::Conv2dBackwardData>(
            {p.stride, p.padding, p.dilation, p.groups, c.x[2], c.x[3]}, {weight, dy}, {"", from, to},
            choice.of<uint32_t>({0, 1}), int(choice.between(1, 3)), weight.spec().numel() / c.weight[0] * 8);
        if (dtype == DType::f32)
            expect_all_alike<ops::Conv2dBackwardWeight>({p.stride, p.padding, p.dilation, p.groups},
                                                        {x, dy, weight}, {from, from, "", ""}, 0,
                                                        int(choice.between(1, 3)), dy.spec().numel());
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(RandomWindows, Pools) {
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        Axis h = random_axis(choice), w = random_axis(choice);
        for (auto* axis : {&h, &w}) {
            axis->padding = std::min(axis->padding, axis->window - 1);
            if (axis->window <= axis->size + 2 * axis->padding) continue;
            axis->window = axis->size;
            axis->padding = std::min(axis->padding, axis->size - 1);
        }
        DType dtype = choice.of<DType>({DType::f32, DType::f32, DType::f16, DType::bf16});
        Tensor x = random_tensor(
            {choice.between(1, 2), choice.of<int64_t>({1, 3, 8, 16, 33}), h.size, w.size}, dtype);
        std::string from = choice.of(layout_names), to = choice.flip() ? from : choice.of(layout_names);
        int threads = int(choice.between(1, 3));
        ops::Pair kernel{h.window, w.window}, stride{h.stride, w.stride}, padding{h.padding, w.padding};
        expect_all_alike<ops::MaxPool2d>({kernel, stride, padding}, {x}, {from, to}, 0, threads, 1);
        expect_all_alike<ops::AvgPool2d>({kernel, stride, padding, choice.flip()}, {x}, {from, to}, 0,
                                         threads, h.window * w.window);
        int64_t rows = choice.between(1, h.size), columns = choice.between(1, w.size);
        expect_all_alike<ops::AdaptiveMaxPool2d>({rows, columns}, {x}, {from, to}, 0, threads, 1);
        expect_all_alike<ops::AdaptiveAvgPool2d>({rows, columns}, {x}, {from, to}, 0, threads,
                                                 h.size * w.size);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace mge::test
