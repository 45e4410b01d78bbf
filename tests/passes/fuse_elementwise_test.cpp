// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/ops/elementwise/fused/fused_region.h"
#include "libmge/ops/nn/convolution/conv2d.h"
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

TEST(FuseElementwise, KeepsConstantsThatWidenTheResult) {
    Body body = [](const Tensors& x) {
        Tensor y = ops::mul(ops::relu(ops::add(x[0], constant({1}, {2}))), constant({1}, {3}));
        return Tensors{ops::mean(y, {.axes = {-1}, .keepdims = true})};
    };
    expect_rewrite(fuse_elementwise, {f32({})}, body, body);
}

TEST(FuseElementwise, KeepsValuesWithSeveralReaders) {
    Body body = [](const Tensors& x) {
        Tensor y = ops::relu(x[0]);
        return Tensors{ops::add(y, x[0]), ops::transpose(y, {.pattern = {1, 0}})};
    };
    expect_rewrite(fuse_elementwise, {f32({2, 3})}, body, body);
}

TEST(FuseElementwise, WidensAHalfForEachReader) {
    Body before = [](const Tensors& x) {
        Tensor wide = ops::convert(ops::convert(x[0], {.dtype = DType::bf16}), {.dtype = DType::f32});
        Tensor square = ops::mul(wide, wide), sum = ops::add(ops::exp(wide), wide);
        return Tensors{ops::transpose(square, {.pattern = {1, 0}}), sum};
    };
    Graph got = fuse_elementwise(record({f32({2, 3})}, before), {});
    verify(got);
    ASSERT_EQ(got.nodes().size(), 4u) << to_text(got);
    auto program = [&](size_t i) { return got.nodes()[i].as<ops::FusedElementwise::Params>().program; };
    EXPECT_EQ(program(1), "inputs 1; convert[dtype=float32] 0; mul 1 1");
    EXPECT_EQ(program(2), "inputs 1; convert[dtype=float32] 0; exp 1; add 2 1");
    expect_equal_results(got, before, {constant({2, 3}, {1, -5, 2, 3})});
}

// The float is needed anyway.
TEST(FuseElementwise, WidensAHalfOnceForOtherReaders) {
    for (bool is_result : {false, true}) {
        Body body = [&](const Tensors& x) {
            Tensor wide = ops::convert(ops::transpose(x[0], {.pattern = {1, 0}}), {.dtype = DType::f32});
            Tensor other = is_result ? wide : ops::transpose(wide, {.pattern = {1, 0}});
            return Tensors{ops::relu(wide), ops::exp(wide), other};
        };
        expect_rewrite(fuse_elementwise, {{DType::f16, {2, 3}, {}}}, body, body);
    }
}

TEST(FuseElementwise, KeepsSingleOperators) {
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

PassOptions with(std::optional<int> level) {
    PassOptions options;
    options.switches.fuse_elementwise = level;
    return options;
}

TEST(FuseElementwise, EndsWithAReduction) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::mean(ops::relu(ops::add(x[0], x[1])), {.axes = {-1}, .keepdims = true})};
    };
    Graph graph = record({f32({2, 3}), f32({3})}, before);
    for (auto& options : {with(std::nullopt), with(2)}) {
        Graph got = fuse_elementwise(graph, options);
        verify(got);
        ASSERT_EQ(got.nodes().size(), 1u) << to_text(got);
        auto& params = got.nodes()[0].as<ops::FusedRegion::Params>();
        EXPECT_EQ(params.program, "inputs 2; add 0 1; relu 2");
        EXPECT_EQ(params.reduction, "mean");
        expect_equal_results(got, before, {constant({2, 3}, {1, -5, 2, 3}), constant({3}, {1, 2, -4})});
    }
    EXPECT_EQ(fuse_elementwise(graph, with(1)).nodes().size(), 2u);
}

TEST(FuseElementwise, SumsGradientsDownToAShape) {
    struct Case {
        Shape from, to;
        bool is_one;
    };
    for (auto& [from, to, is_one] : std::vector<Case>{{{4, 3}, {3}, true},
                                                      {{4, 3}, {4, 1}, true},
                                                      {{4, 3}, {1, 1}, true},
                                                      {{4, 3}, {}, true},
                                                      {{2, 4, 3}, {4, 1}, false}}) {
        IntList shape(to.begin(), to.end());
        Shape given = from;
        Body before = [&](const Tensors& x) {
            return Tensors{ops::reduce_to_shape(ops::exp(x[0]), {}, {.shape = shape})};
        };
        Graph got = fuse_elementwise(record({f32(given)}, before), with(2));
        verify(got);
        EXPECT_EQ(got.nodes().size(), is_one ? 1u : 2u) << to;
        expect_equal_results(got, before, {constant(given, {0.5, -1, 0.25, 1, 0.75})});
    }
}

TEST(FuseElementwise, KeepsReductionsOfSharedValues) {
    Body body = [](const Tensors& x) {
        Tensor y = ops::relu(x[0]);
        return Tensors{ops::sum(y), y};
    };
    Graph graph = record({f32({2, 3})}, body);
    expect_same(fuse_elementwise(graph, with(2)), graph);
}

// A convolution gives its image in a layout of its own, in which the mean of its pixels is computed.
TEST(FuseElementwise, KeepsReductionsOfImagesByDefault) {
    Body body = [](const Tensors& x) {
        Tensor image = ops::conv2d(x[0], constant({4, 4, 1, 1}, {1, 2, 3}), {.stride = {1, 1}});
        return Tensors{ops::mean(ops::sin(image), {.axes = {2, 3}})};
    };
    Graph graph = record({f32({1, 4, 5, 5})}, body);
    EXPECT_EQ(fuse_elementwise(graph, with(std::nullopt)).nodes().size(), 3u);
    EXPECT_EQ(fuse_elementwise(graph, with(2)).nodes().size(), 2u);
}

TEST(FuseElementwise, Transposes) {
    Body before = [](const Tensors& x) {
        Tensor turned = ops::transpose(ops::exp(x[0]), {.pattern = {1, 0}});
        return Tensors{ops::add(turned, ops::transpose(x[1], {.pattern = {1, 0}}))};
    };
    Graph graph = record({f32({2, 3}), f32({2, 3})}, before);
    Graph got = fuse_elementwise(graph, with(1));
    verify(got);
    ASSERT_EQ(got.nodes().size(), 1u) << to_text(got);
    EXPECT_EQ(got.nodes()[0].as<ops::FusedRegion::Params>().program,
              "inputs 2; exp 0; transpose[pattern=1:0] 2; transpose[pattern=1:0] 1; add 3 4");
    expect_equal_results(got, before, {constant({2, 3}, {1, -5, 2}), constant({2, 3}, {1, 2, -4, 3})});
    PassOptions no_transposes = with(1);
    no_transposes.switches.fuse_transposes = false;
    for (auto& options : {with(2), with(std::nullopt), no_transposes})
        EXPECT_EQ(fuse_elementwise(graph, options).nodes().size(), 4u);
}

TEST(FuseElementwise, EndsWithNoTransposition) {
    Body before = [](const Tensors& x) {
        Tensor y = ops::exp(ops::neg(x[0]));
        return Tensors{ops::transpose(ops::transpose(y, {.pattern = {1, 0}}), {.pattern = {1, 0}})};
    };
    Graph got = fuse_elementwise(record({f32({2, 3})}, before), with(1));
    verify(got);
    ASSERT_EQ(got.nodes().size(), 3u) << to_text(got);
    EXPECT_EQ(got.nodes()[0].op, &ops::FusedElementwise::info);
    expect_equal_results(got, before, {constant({2, 3}, {1, -5, 2})});
}

TEST(FuseElementwise, TransposesLongRowsByDefault) {
    for (int64_t row : {64, 1024}) {
        Graph graph = record({f32({2, 3, row})}, [](const Tensors& x) {
            return Tensors{ops::relu(ops::transpose(x[0], {.pattern = {1, 0, 2}}))};
        });
        EXPECT_EQ(fuse_elementwise(graph, {}).nodes().size(), row == 1024 ? 1u : 2u);
    }
}

}  // namespace
}  // namespace mge::test
