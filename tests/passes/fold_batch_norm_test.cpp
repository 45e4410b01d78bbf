// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor normalised(const Tensor& x, bool training = false) {
    return ops::batch_norm(x, constant({1, 4, 1, 1}, {1, 2, 0.5, -1}), constant({1, 4, 1, 1}, {0, 1, 2, 3}),
                           constant({1, 4, 1, 1}, {0.1f, 0.2f, -0.3f, 0.4f}),
                           constant({1, 4, 1, 1}, {1, 0.5, 2, 4}), {.training = training})[0];
}

std::vector<float> ramp(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 11) - 5) / 4;
    return values;
}

void expect_folded(const Shape& x_shape, const Body& body) {
    Graph got = fold_batch_norm(record({f32(x_shape)}, body), {});
    verify(got);
    ASSERT_EQ(got.nodes().size(), 1u) << to_text(got);
    Tensors inputs{constant(x_shape, ramp(x_shape.numel()))};
    Tensor expected = body(inputs)[0], result = Executable(got, {}).run(inputs)[0];
    ASSERT_EQ(result.spec(), expected.spec());
    for (int64_t i = 0; i < result.spec().numel(); ++i)
        EXPECT_NEAR(result.data<float>()[i], expected.data<float>()[i], 1e-4) << i;
}

TEST(FoldBatchNorm, IntoConvolutions) {
    expect_folded({2, 3, 5, 5}, [](const Tensors& x) {
        return Tensors{normalised(ops::conv2d(x[0], constant({4, 3, 3, 3}, ramp(108)), {.padding = {1, 1}}))};
    });
}

TEST(FoldBatchNorm, IntoConvolutionsWithBias) {
    expect_folded({1, 3, 5, 5}, [](const Tensors& x) {
        Tensor bias = constant({1, 4, 1, 1}, {1, -1, 2, 0});
        return Tensors{normalised(ops::conv2d(x[0], constant({4, 3, 1, 1}, ramp(12)), bias, Tensor()))};
    });
}

TEST(FoldBatchNorm, IntoGroupedConvolutions) {
    expect_folded({1, 4, 5, 5}, [](const Tensors& x) {
        return Tensors{normalised(ops::conv2d(x[0], constant({2, 2, 2, 3, 3}, ramp(72)), {.groups = 2}))};
    });
}

TEST(FoldBatchNorm, KeepsTrainingAndSharedValues) {
    Body training = [](const Tensors& x) {
        return Tensors{normalised(ops::conv2d(x[0], constant({4, 3, 1, 1}, ramp(12))), true)};
    };
    expect_rewrite(fold_batch_norm, {f32({1, 3, 5, 5})}, training, training);
    Body shared = [](const Tensors& x) {
        Tensor y = ops::conv2d(x[0], constant({4, 3, 1, 1}, ramp(12)));
        return Tensors{normalised(y), y};
    };
    expect_rewrite(fold_batch_norm, {f32({1, 3, 5, 5})}, shared, shared);
    Body activated = [](const Tensors& x) {
        Tensor y = ops::conv2d(x[0], constant({4, 3, 1, 1}, ramp(12)), {.activation = Activation::relu});
        return Tensors{normalised(y)};
    };
    expect_rewrite(fold_batch_norm, {f32({1, 3, 5, 5})}, activated, activated);
}

}  // namespace
}  // namespace mge::test
