// SPDX-License-Identifier: Apache-2.0
// Windows of each channel's own on a GPU, beside the CPU's: both orders of images, packs and single channels,
// one block and several, what follows the sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/device/upload.h"
#include "libmge/kernel/launch.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

struct Case {
    int64_t images, channels, rows, columns, kernel[2];
    ops::Conv2d::Params params;
    bool has_bias = true, has_residual = false;
};

Tensor filled(const Shape& shape, DType dtype, int seed) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = double((int(i % 9973) * 7 + seed * 13) % 23 - 11) / 8;
    return make_tensor(dtype, shape, values);
}

// On the GPU in that layout, whose bytes a plain tensor of other axes has.
Tensor upload(const Tensor& x, bool is_last) {
    if (!x || !is_last) return x ? to_device(x, gpu()) : x;
    Tensor turned = to_device(ops::transpose(x, {.pattern = {0, 2, 3, 1}}), gpu());
    TensorSpec spec = x.spec();
    spec.layout = Layout::named("nhwc");
    Tensor result = empty_tensor(spec, gpu());
    queue_of(gpu()).copy(result.address(), turned.address(), spec.bytes());
    return result;
}
Tensor download(const Tensor& y) {
    if (y.spec().layout.is_plain()) return to_host(y);
    auto& s = y.spec().shape;
    Tensor turned = empty_tensor({y.spec().dtype, {s[0], s[2], s[3], s[1]}, {}}, gpu());
    queue_of(gpu()).copy(turned.address(), y.address(), y.spec().bytes());
    return ops::transpose(to_host(turned), {.pattern = {0, 3, 1, 2}});
}

Tensor run_on_gpu(const Case& c, const Tensors& inputs, const TensorSpec& out, bool is_last) {
    Tensors there;
    TensorSpecs specs;
    for (size_t i = 0; i < inputs.size(); ++i) {
        there.push_back(upload(inputs[i], is_last && (i == 0 || i == 3)));
        specs.push_back(there[i] ? there[i].spec() : TensorSpec{});
    }
    TensorSpec spec = out;
    if (is_last) spec.layout = Layout::named("nhwc");
    Tensors outputs{empty_tensor(spec, gpu())};
    Problem problem = make_problem(ops::Conv2d::info, &c.params, specs, {&spec, 1});
    problem.device = problem.output_device = gpu();
    for (auto& algorithm : find_kernels(ops::Conv2d::info, gpu())) {
        if (std::string_view(algorithm.name) != "depthwise") continue;
        EXPECT_TRUE(algorithm.supports(problem)) << algorithm.supports(problem).reason;
        Prepared prepared = algorithm.prepare({problem, {}, {}});
        launch(algorithm, prepared, {queue_of(gpu())}, there, outputs);
    }
    return download(outputs[0]);
}

void compare(const Case& c, DType dtype) {
    Tensors inputs{filled({c.images, c.channels, c.rows, c.columns}, dtype, 1),
                   filled({c.channels, 1, 1, c.kernel[0], c.kernel[1]}, dtype, 2),
                   c.has_bias ? filled({1, c.channels, 1, 1}, dtype, 3) : Tensor(), Tensor()};
    TensorSpecs specs{inputs[0].spec(), inputs[1].spec(), c.has_bias ? inputs[2].spec() : TensorSpec{},
                      TensorSpec{}};
    TensorSpec out = ops::Conv2d::info.infer(&c.params, specs)[0];
    if (c.has_residual) inputs[3] = filled(out.shape, dtype, 4);
    // Sums of halves are rounded once on both.
    Tensor expected = ops::conv2d(inputs[0], inputs[1], inputs[2], inputs[3], c.params);
    double least = dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 2e-2 : 2e-1;
    for (bool is_last : {false, true}) {
        Tensor got = run_on_gpu(c, inputs, out, is_last);
        auto a = floats_of(ops::convert(got, {.dtype = DType::f32})),
             b = floats_of(ops::convert(expected, {.dtype = DType::f32}));
        ASSERT_EQ(a.size(), b.size());
        for (size_t i = 0; i < a.size(); ++i)
            ASSERT_NEAR(a[i], b[i], least * (1 + std::abs(b[i]) / 8))
                << "element " << i << ", last " << is_last;
    }
}

TEST(CudaDepthwise, ComputesAsTheCpu) {
    ops::Conv2d::Params same3{.padding = {1, 1}}, same5{.padding = {2, 2}};
    ops::Conv2d::Params apart{.stride = {2, 1}, .padding = {0, 3}, .dilation = {1, 2}};
    ops::Conv2d::Params steps{.stride = {2, 2}, .padding = {1, 1}};
    std::vector<Case> cases{
        {2, 8, 9, 7, {3, 3}, same3},
        {1, 5, 6, 11, {3, 3}, steps},
        {2, 40, 5, 5, {5, 5}, same5, false},
        {1, 520, 3, 3, {3, 3}, same3, true, true},
        {1, 12, 11, 13, {2, 3}, apart, true, true},
        {1, 64, 12, 12, {7, 7}, {.padding = {3, 3}}},
        {3, 3, 1, 1, {1, 1}, {}},
        {1, 16, 11, 9, {3, 3}, steps},
        {2, 16, 11, 14, {5, 5}, {.stride = {2, 2}, .padding = {2, 2}}},
        {1, 132, 5, 6, {3, 3}, same3},  // two chunks of 17 and 16 packs
    };
    auto with = [](Activation activation, ops::Conv2d::Params params) {
        params.activation = activation;
        return params;
    };
    cases.push_back({1, 16, 8, 8, {3, 3}, with(Activation::relu6, same3)});
    cases.push_back({1, 6, 8, 8, {3, 3}, with(Activation::silu, steps), true, false});
    for (Case& c : cases) {
        c.params.groups = c.channels;
        for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
            SCOPED_TRACE(text(c.channels, " channels, window ", c.kernel[0], "x", c.kernel[1], ' ', dtype));
            compare(c, dtype);
        }
    }
}

}  // namespace
}  // namespace mge::test
