// SPDX-License-Identifier: Apache-2.0
// Quantised convolutions by every algorithm, plain and channels-last: the bits of the reference on plain
// images.
#include <gtest/gtest.h>

#include <cstring>

#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "tests/harness/check_op.h"
#include "tests/ops/nn/images.h"
#include "tests/ops/random_convolution.h"

namespace mge::test {
namespace {

using Conv = ops::QuantizedConv2d;

Tensor random_steps(Choice& choice, DType dtype, const Shape& shape) {
    int64_t least = dtype == DType::u8 ? 0 : dtype == DType::i8 ? -128 : -5000;
    int64_t most = dtype == DType::i32 ? 5000 : least + 255;
    std::vector<double> values(size_t(shape.numel()));
    for (auto& v : values) v = double(choice.between(least, most));
    return make_tensor(dtype, shape, values);
}

Tensor random_scales(Choice& choice, int64_t count, double most) {
    std::vector<double> values(static_cast<size_t>(count));
    for (auto& v : values) v = most * double(choice.between(1, 100)) / 100;
    return make_tensor(DType::f32, {count}, values);
}

struct RandomProblem {
    Conv::Params params;
    Tensors inputs = Tensors(Conv::shift + 1);
};

RandomProblem random_problem(Choice& choice) {
    RandomConvolution c = random_convolution(choice);
    RandomProblem r{{c.params.stride, c.params.padding, c.params.dilation, c.params.groups}};
    const std::vector<DType> bytes{DType::u8, DType::i8, DType::i8};
    auto& in = r.inputs;
    in[Conv::x] = random_steps(choice, choice.of(bytes), c.x);
    in[Conv::weight] = random_steps(choice, choice.of(bytes), c.weight);
    Shape y = ops::conv_shape(Conv::name, ops::window_of(c.params), c.x, c.weight);
    // In the range of both dtypes.
    auto zero = [&] { return make_tensor(DType::i32, {1}, {double(choice.between(0, 127))}); };
    if (choice.flip()) in[Conv::bias] = random_steps(choice, DType::i32, {1, y[1], 1, 1});
    if (choice.flip()) in[Conv::x_zero] = zero();
    if (choice.between(0, 3) == 0) in[Conv::weight_zero] = zero();
    if (choice.between(0, 3) == 0) return r;  // sums
    r.params.dtype = choice.of(bytes);
    r.params.rounding =
        choice.of<ops::StepRounding>({ops::StepRounding::half_away, ops::StepRounding::half_even});
    r.params.activation = choice.of<Activation>(
        {Activation::none, Activation::relu, Activation::relu6, Activation::hswish, Activation::silu});
    in[Conv::scale] = random_scales(choice, choice.flip() ? y[1] : 1, 1e-3);
    in[Conv::y_scale] = random_scales(choice, 1, 0.3);
    if (choice.flip()) in[Conv::y_zero] = zero();
    if (!choice.flip()) return r;
    in[Conv::residual] = random_steps(choice, choice.of(bytes), y);
    in[Conv::residual_scale] = random_scales(choice, 1, 0.1);
    if (choice.flip()) in[Conv::residual_zero] = zero();
    if (!choice.flip()) return r;
    in[Conv::inner_scale] = random_scales(choice, 1, 0.1);
    in[Conv::inner_zero] = zero();
    in[Conv::shift] = random_scales(choice, y[1], 1);
    r.params.inner_dtype = choice.of(bytes);
    return r;
}

TEST(RandomConvolutions, AllAlgorithmsGiveTheSameBits) {
    for (int seed = 0; seed < random_cases(); ++seed) {
        Choice choice(seed);
        RandomProblem r = random_problem(choice);
        TensorSpecs plain = specs_of(r.inputs), outputs = Conv::infer(r.params, plain);
        Problem problem{Conv::name, &r.params, Conv::info.fields, plain, outputs};
        Tensor expected = by_reference<Conv>(r.params, r.inputs)[0];
        for (Layout layout : {Layout(), Layout::named("nhwc")}) {
            Tensors inputs = r.inputs;
            for (size_t i : {Conv::x, Conv::residual})
                if (inputs[i]) inputs[i] = reordered(inputs[i], layout, true);
            TensorSpecs specs = specs_of(inputs);
            outputs[0].layout = layout;
            problem.inputs = specs;
            problem.constant_inputs = choice.flip() ? ~(1u << Conv::x | 1u << Conv::residual) : 0;
            problem.threads = int(choice.between(1, 3));
            for_each_algorithm(Conv::info, problem, inputs, [&](const Tensors& got, const std::string& what) {
                Tensor y = reordered(got[0], {}, true);
                ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.spec().bytes()), 0) << what;
            });
        }
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace mge::test
