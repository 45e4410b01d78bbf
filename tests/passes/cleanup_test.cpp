// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

TEST(RemoveDeadNodes, DropsUnusedNodes) {
    Body before = [](const Tensors& x) {
        Tensor dead = ops::add(x[0], x[1]);
        ops::add(dead, dead);
        return Tensors{ops::add(x[0], x[0])};
    };
    Body after = [](const Tensors& x) { return Tensors{ops::add(x[0], x[0])}; };
    expect_rewrite(remove_dead_nodes, {f32({2}), f32({2})}, before, after);
}

TEST(RemoveDeadNodes, KeepsNodesWithOneUsedOutput) {
    Body body = [](const Tensors& x) { return Tensors{ops::split(x[0], {.axis = 0, .sizes = {1, 2}})[1]}; };
    expect_rewrite(remove_dead_nodes, {f32({3})}, body, body);
}

// If all nodes are needed, nothing is rebuilt.
TEST(RemoveDeadNodes, DropsUnusedConstants) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({2}), "x");
    builder.value_of(constant({2}, {1, 2}));
    InterpreterScope scope(builder);
    builder.set_outputs({ops::relu(x)});
    Graph graph = builder.take();
    auto is_constant = [](const Value& value) { return value.is_constant(); };
    ASSERT_TRUE(std::ranges::any_of(graph.values(), is_constant));
    Graph got = remove_dead_nodes(graph, {});
    verify(got);
    EXPECT_TRUE(std::ranges::none_of(got.values(), is_constant));
}

TEST(SimplifyAlgebra, DropsEmptyPartsOfConcatenations) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::concat({x[1], x[0], x[1]}, {.axis = 0}), ops::concat({x[0], x[0]}, {.axis = 0})};
    };
    Body after = [](const Tensors& x) { return Tensors{x[0], ops::concat({x[0], x[0]}, {.axis = 0})}; };
    expect_rewrite(simplify_algebra, {f32({2, 3}), f32({0, 3})}, before, after);
}

TEST(FoldConstants, FoldsValuesIndependentOfInputs) {
    // Constants come in as symbols: a concrete tensor would be computed while recording.
    GraphBuilder builder;
    Tensor x = builder.input(f32({2}), "x");
    Tensor a = builder.symbol(builder.value_of(constant({2}, {1, 2})));
    Tensor b = builder.symbol(builder.value_of(constant({2}, {10, 20})));
    InterpreterScope scope(builder);
    builder.set_outputs({ops::add(x, ops::add(a, b)), ops::add(a, b)});
    Graph got = fold_constants(builder.take(), {});
    verify(got);
    expect_same(got, record({f32({2})}, [](const Tensors& in) {
                    Tensor sum = constant({2}, {11, 22});
                    return Tensors{ops::add(in[0], sum), sum};
                }));
}

// 2^30 elements, each time twice as many.
TEST(FoldConstants, DoesNotFoldLargeResults) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({1}), "x");
    Tensor grown = builder.symbol(builder.value_of(constant({2}, {1, 2})));
    InterpreterScope scope(builder);
    for (int i = 0; i < 29; ++i) grown = ops::concat({grown, grown}, {.axis = 0});
    builder.set_outputs({ops::add(x, ops::max(grown))});
    Graph got = fold_constants(builder.take(), {});
    verify(got);
    size_t kept = 0;
    for (auto& value : got.values())
        if (value.is_constant()) kept += value.spec.bytes();
    EXPECT_LE(kept, size_t(64 << 20) + 1024);
    EXPECT_GE(got.nodes().size(), 4u);
}

TEST(FoldConstants, FoldsValuesDerivedFromShapes) {
    Body before = [](const Tensors& x) { return Tensors{ops::shape_of(x[0])}; };
    Body after = [](const Tensors&) {
        int32_t dims[] = {5, 7};
        return Tensors{tensor_from_host({DType::i32, {2}, {}}, dims)};
    };
    expect_rewrite(fold_constants, {f32({5, 7})}, before, after);
}

TEST(FoldConstants, DropsChecksThatHold) {
    auto folded = [](float expected, bool verbose) {
        Graph graph = record({f32({5, 7})}, [&](const Tensors& x) {
            Tensor size = ops::convert(ops::shape_of(x[0], {.axis = 1}), {.dtype = DType::f32});
            ops::assert_equal(constant({1}, {expected}), size, {.verbose = verbose});
            return Tensors{ops::neg(x[0])};
        });
        return fold_constants(graph, {}).nodes().size();
    };
    EXPECT_EQ(folded(7, false), 1u);
    EXPECT_EQ(folded(7, true), 2u) << "it prints";
    EXPECT_EQ(folded(8, false), 2u) << "the run reports it";
}

TEST(FoldConstants, DoesNotFoldGrowingResults) {
    Body body = [](const Tensors& x) {
        return Tensors{ops::add(x[0], ops::full({.shape = {1000, 1000}, .value = 1}))};
    };
    expect_rewrite(fold_constants, {f32({1000, 1000})}, body, body);
}

TEST(FoldConstants, WidensWeightsOnceButNotInFiles) {
    std::vector<int8_t> values(1 << 18, 3);
    GraphBuilder builder;
    Tensor x = builder.input(f32({1 << 18}), "x");
    Tensor stored = tensor_from_host({DType::i8, {1 << 18}, {}}, values.data());
    Tensor narrow = builder.symbol(builder.value_of(stored));
    InterpreterScope scope(builder);
    builder.set_outputs({ops::add(x, ops::convert(narrow, {.dtype = DType::f32}))});
    Graph graph = builder.take();
    EXPECT_EQ(fold_constants(graph, {}).nodes().size(), 1u);
    EXPECT_EQ(fold_constants(graph, {.fixed_shapes = false}).nodes().size(), 2u);
}

TEST(MergeDuplicates, KeepsOneOfEqualNodesAndConstants) {
    Body before = [](const Tensors& x) {
        Tensor a = ops::add(x[0], constant({1}, {3})), b = ops::add(x[0], constant({1}, {3}));
        return Tensors{ops::concat({a, b}, {.axis = 0}), ops::concat({a, b}, {.axis = 1})};
    };
    Body after = [](const Tensors& x) {
        Tensor a = ops::add(x[0], constant({1}, {3}));
        return Tensors{ops::concat({a, a}, {.axis = 0}), ops::concat({a, a}, {.axis = 1})};
    };
    expect_rewrite(merge_duplicates, {f32({2, 2})}, before, after);
}

TEST(SimplifyAlgebra, DropsNeutralElements) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::add(ops::add(constant({2}, {0}), x[0]), constant({1}, {0}))};
    };
    expect_rewrite(simplify_algebra, {f32({2})}, before, [](const Tensors& x) { return x; });
}

TEST(SimplifyAlgebra, KeepsAdditionsThatBroadcast) {
    Body body = [](const Tensors& x) { return Tensors{ops::add(x[0], constant({3, 1}, {0}))}; };
    expect_rewrite(simplify_algebra, {f32({2})}, body, body);
}

TEST(SimplifyAlgebra, MergesViews) {
    Body before = [](const Tensors& x) {
        Tensor y = ops::reshape(ops::flatten(ops::add_axis(x[0], {.axes = {0}})), {.shape = {3, -1}});
        return Tensors{y, ops::reshape(y, {.shape = {2, 3}}), ops::reshape(y, {.shape = {3, 2}})};
    };
    auto canonical = [](Graph graph, const PassOptions& options) {
        graph = simplify_algebra(std::move(graph), options);
        return merge_duplicates(std::move(graph), options);
    };
    Graph got = canonical(record({f32({2, 3})}, before), {});
    EXPECT_EQ(got.nodes().size(), 1u) << to_text(got);
    EXPECT_EQ(got.outputs()[1], got.inputs()[0]);
    EXPECT_EQ(got.value(got.outputs()[0]).spec, f32({3, 2}));
}

TEST(SimplifyAlgebra, ComposesTransposes) {
    Body before = [](const Tensors& x) {
        Tensor y = ops::transpose(x[0], {.pattern = {2, 0, 1}});
        return Tensors{ops::transpose(y, {.pattern = {1, 2, 0}}), ops::transpose(y, {.pattern = {2, 0, 1}})};
    };
    Body after = [](const Tensors& x) { return Tensors{x[0], ops::transpose(x[0], {.pattern = {1, 2, 0}})}; };
    expect_rewrite(simplify_algebra, {f32({2, 3, 4})}, before, after);
}

TEST(SimplifyAlgebra, DropsLosslessConversions) {
    Body before = [](const Tensors& x) {
        Tensor wide = convert_dtype(x[0], DType::f32), narrow = convert_dtype(x[1], DType::f16);
        return Tensors{convert_dtype(wide, DType::f16), convert_dtype(narrow, DType::f32)};
    };
    Body after = [](const Tensors& x) {
        return Tensors{x[0], convert_dtype(convert_dtype(x[1], DType::f16), DType::f32)};
    };
    expect_rewrite(simplify_algebra, {{DType::f16, {2}, {}}, f32({2})}, before, after);
}

TEST(SimplifyAlgebra, ReplacesTensorsReadOnlyForTheirShape) {
    Body before = [](const Tensors& x) {
        return Tensors{ops::broadcast_like(x[0], x[1]), ops::reduce_to_shape(x[1], x[0]),
                       ops::full_like(x[1], {.value = 2})};
    };
    Body after = [](const Tensors& x) {
        return Tensors{ops::broadcast_to(x[0], {.shape = {4, 3}}), ops::reduce_to_shape(x[1], {.shape = {3}}),
                       ops::full({.shape = {4, 3}, .value = 2})};
    };
    expect_rewrite(simplify_algebra, {f32({3}), f32({4, 3})}, before, after);
}

TEST(Pipeline, NamesThePassesWhenOneIsUnknown) {
    PassOptions options;
    options.passes["fuse_everything"] = true;
    try {
        run_passes(Graph(), options);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), testing::HasSubstr("no pass 'fuse_everything'; there are remove_dead_nodes, "));
        EXPECT_EQ(e.error_class(), ErrorClass::value);
    }
}

TEST(Pipeline, RunsPassesByLevelAndName) {
    Body body = [](const Tensors& x) { return Tensors{ops::add(x[0], constant({1}, {0}))}; };
    auto nodes_left = [&](PassOptions options) {
        options.verify = true;
        return run_passes(record({f32({2})}, body), options).nodes().size();
    };
    EXPECT_EQ(nodes_left({}), 0u);
    EXPECT_EQ(nodes_left({.level = 0}), 1u);
    EXPECT_EQ(nodes_left({.passes = {{"simplify_algebra", true}}, .level = 0}), 0u);
    EXPECT_EQ(nodes_left({.passes = {{"simplify_algebra", false}}}), 1u);
}

Graph fail(Graph, const PassOptions&) { throw InternalError("no way on"); }
Graph refuse(Graph, const PassOptions&) { throw UserError("not here"); }

TEST(Pipeline, ShowsTheGraphOfAPassThatFails) {
    constexpr Pass failing{"failing", 0, fail}, refusing{"refusing", 0, refuse};
    Body body = [](const Tensors& x) { return Tensors{ops::sqrt(ops::add(x[0], constant({1}, {0})))}; };
    auto graph_shown_by = [&](const Pass& pass) {
        testing::internal::CaptureStderr();
        EXPECT_ANY_THROW(run_passes(record({f32({2})}, body), {.own_passes = {&pass}}));
        return testing::internal::GetCapturedStderr();
    };
    // As the passes before it left it: without the zero.
    std::string graph = graph_shown_by(failing);
    EXPECT_THAT(graph, testing::HasSubstr("pass failing failed: "));
    EXPECT_THAT(graph, testing::HasSubstr("sqrt("));
    EXPECT_THAT(graph, testing::Not(testing::HasSubstr("add(")));
    // A refusal has a reason.
    EXPECT_EQ(graph_shown_by(refusing), "");
}

}  // namespace
}  // namespace mge::test
