// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/elementwise/fused.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor number(double value) { return scalar_tensor(value, DType::f32); }

void expect_equal_results(const Graph& graph, const Body& body, const Tensors& inputs) {
    Tensors expected = body(inputs), got = Executable(graph, {}).run(inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].spec(), expected[i].spec());
        for (int64_t k = 0; k < got[i].spec().numel(); ++k)
            EXPECT_NEAR(got[i].data<float>()[k], expected[i].data<float>()[k], 1e-5) << i << " " << k;
    }
}

TEST(FuseElementwise, MakesOneNodeOfATree) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::mul(ops::relu(ops::add(x[0], x[1])), ops::sub(x[1], number(2)))};
    };
    TensorSpecs specs{f32({2, 3}), f32({3})};
    Graph got = fuse_elementwise(record(specs, before), {});
    verify(got);
    // x1 - 2 is smaller than the result, so it stays on its own.
    ASSERT_EQ(got.nodes().size(), 2u) << to_text(got);
    EXPECT_EQ(got.nodes()[1].op, &ops::FusedElementwise::info);
    EXPECT_EQ(got.nodes()[1].as<ops::FusedElementwise::Params>().program,
              "inputs 3; add 0 1; relu 3; mul 4 2");
    expect_equal_results(got, before, {constant({2, 3}, {1, -5, 2, 3}), constant({3}, {1, 2, -4})});
}

TEST(FuseElementwise, HoldsScalarConstants) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::clip(ops::mul(ops::add(x[0], number(3)), number(0.5)), {.lower = 0, .upper = 2})};
    };
    Graph got = fuse_elementwise(record({f32({7})}, before), {});
    verify(got);
    ASSERT_EQ(got.nodes().size(), 1u);
    EXPECT_EQ(got.nodes()[0].inputs.size(), 1u);
    expect_equal_results(got, before, {constant({7}, {-9, -1, 0, 0.5, 2, 7, 100})});
}

TEST(FuseElementwise, LeavesValuesThatOthersRead) {
    Body body = [](const Tensors& x) {
        Tensor y = ops::relu(x[0]);
        return Tensors{ops::add(y, x[0]), ops::transpose(y, {.pattern = {1, 0}})};
    };
    expect_rewrite(fuse_elementwise, {f32({2, 3})}, body, body);
}

TEST(FuseElementwise, LeavesSingleOperators) {
    Body body = [](const Tensors& x) {
        return Tensors{ops::relu(ops::transpose(x[0], {.pattern = {1, 0}}))};
    };
    expect_rewrite(fuse_elementwise, {f32({2, 3})}, body, body);
}

TEST(FuseElementwise, ComputesLongChains) {
    Body before = [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 40; ++i) y = ops::add(ops::mul(y, number(0.9)), x[size_t(i % 2)]);
        return Tensors{y};
    };
    Graph got = fuse_elementwise(record({f32({1000}), f32({1000})}, before), {});
    verify(got);
    EXPECT_LT(got.nodes().size(), 10u);
    expect_equal_results(got, before, {constant({1000}, {0.1f, -0.2f, 0.3f}), constant({1000}, {1, 2})});
}

}  // namespace
}  // namespace mge::test
