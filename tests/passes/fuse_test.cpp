// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor weight() { return constant({3, 4}, {1, -2, 0.5, 3, -1}); }
Tensor bias() { return constant({1, 4}, {1, 2, 3, 4}); }

TEST(FuseBias, FusesAConstantPerChannel) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::add(ops::matmul(x[0], weight()), constant({4}, {1, 2, 3, 4}))};
    };
    Body after = [](const Tensors& x) { return Tensors{ops::matmul(x[0], weight(), bias(), Tensor())}; };
    Graph got = fuse_bias(record({f32({2, 3})}, before), {});
    verify(got);
    ASSERT_EQ(got.nodes().size(), 1u);
    Tensor fused = got.value(got.nodes()[0].inputs[2]).constant;
    EXPECT_EQ(fused.spec().numel(), 4);
    Tensor x = constant({2, 3}, {1, 2, 3, 4, 5, 6});
    Tensor result = Executable(got, {}).run(std::vector{x})[0];
    Tensor expected = after(std::vector{x})[0];
    for (int i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(result.data<float>()[i], expected.data<float>()[i]);
}

TEST(FuseBias, AddsToAnExistingBias) {
    Graph got = fuse_bias(record({f32({2, 3})},
                                 [](const Tensors& x) {
                                     Tensor y = ops::matmul(x[0], weight(), constant({4}, {1}), Tensor());
                                     return Tensors{ops::add(constant({4}, {1, 2, 3, 4}), y)};
                                 }),
                          {});
    ASSERT_EQ(got.nodes().size(), 1u);
    Tensor fused = got.value(got.nodes()[0].inputs[2]).constant;
    for (int i = 0; i < 4; ++i) EXPECT_EQ(fused.data<float>()[i], float(i + 2));
}

TEST(FuseBias, KeepsOtherAdditions) {
    Body row = [](const Tensors& x) {
        return Tensors{ops::add(ops::matmul(x[0], weight()), constant({2, 1}, {1, 2}))};
    };
    expect_rewrite(fuse_bias, {f32({2, 3})}, row, row);
    Body read_twice = [](const Tensors& x) {
        Tensor y = ops::matmul(x[0], weight());
        return Tensors{ops::add(y, bias()), y};
    };
    expect_rewrite(fuse_bias, {f32({2, 3})}, read_twice, read_twice);
    Body widens = [](const Tensors& x) {
        return Tensors{ops::add(ops::matmul(x[0], weight()), constant({1, 2, 4}, {1}))};
    };
    expect_rewrite(fuse_bias, {f32({2, 3})}, widens, widens);
    Body per_row = [](const Tensors& x) {
        return Tensors{ops::add(ops::matmul(x[0], constant({3}, {1, 2, 3})), constant({2}, {1, 2}))};
    };
    expect_rewrite(fuse_bias, {f32({2, 3})}, per_row, per_row);
}

TEST(FuseResidual, FusesATensorOfTheSameShape) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::add(x[1], ops::matmul(x[0], weight(), bias(), Tensor()))};
    };
    Body after = [](const Tensors& x) { return Tensors{ops::matmul(x[0], weight(), bias(), x[1])}; };
    expect_rewrite(fuse_residual, {f32({2, 3}), f32({2, 4})}, before, after);
}

TEST(FuseResidual, LaterOfTwoFusesTheOther) {
    Body before = [](const Tensors& x) {
        Tensor a = ops::matmul(x[0], weight()), b = ops::matmul(x[1], weight());
        return Tensors{ops::add(a, b)};
    };
    Body after = [](const Tensors& x) {
        return Tensors{ops::matmul(x[1], weight(), Tensor(), ops::matmul(x[0], weight()))};
    };
    expect_rewrite(fuse_residual, {f32({2, 3}), f32({2, 3})}, before, after);
}

TEST(FuseResidual, KeepsBroadcastAndActivatedResiduals) {
    Body broadcasts = [](const Tensors& x) { return Tensors{ops::add(ops::matmul(x[0], weight()), x[1])}; };
    expect_rewrite(fuse_residual, {f32({2, 3}), f32({1, 4})}, broadcasts, broadcasts);
    Body activated = [](const Tensors& x) {
        Tensor y = ops::matmul(x[0], weight(), {.activation = Activation::relu});
        return Tensors{ops::add(y, x[1])};
    };
    expect_rewrite(fuse_residual, {f32({2, 3}), f32({2, 4})}, activated, activated);
}

TEST(FuseActivation, FusesSupportedActivations) {
    Body before = [](const Tensors& x) { return Tensors{ops::relu(ops::matmul(x[0], weight()))}; };
    Body after = [](const Tensors& x) {
        return Tensors{ops::matmul(x[0], weight(), {.activation = Activation::relu})};
    };
    expect_rewrite(fuse_activation, {f32({2, 3})}, before, after);
}

TEST(FuseActivation, KeepsOtherActivations) {
    Body unknown = [](const Tensors& x) { return Tensors{ops::sin(ops::matmul(x[0], weight()))}; };
    expect_rewrite(fuse_activation, {f32({2, 3})}, unknown, unknown);
    Body twice = [](const Tensors& x) {
        Tensor y = ops::matmul(x[0], weight(), {.activation = Activation::relu});
        return Tensors{ops::tanh(y)};
    };
    expect_rewrite(fuse_activation, {f32({2, 3})}, twice, twice);
}

TEST(Fusion, KeepsOrderOfBiasResidualActivation) {
    Body before = [](const Tensors& x) {
        Tensor y = ops::add(ops::matmul(x[0], weight()), bias());
        return Tensors{ops::relu(ops::add(y, x[1]))};
    };
    Graph graph = record({f32({2, 3}), f32({2, 4})}, before);
    Graph fused = run_passes(graph, {.verify = true});
    EXPECT_EQ(fused.nodes().size(), 1u) << to_text(fused);
    Tensors inputs{constant({2, 3}, {1, -2, 3, 4}), constant({2, 4}, {-5, 2, 1})};
    Tensor expected = before(inputs)[0], got = Executable(graph, {}).run(inputs)[0];
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5) << i;
}

}  // namespace
}  // namespace mge::test
