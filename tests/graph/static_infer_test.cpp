// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/static_infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int64_t> ints_of(const Tensor& tensor) {
    auto values = host_values(tensor);
    return {values.begin(), values.end()};
}
Tensor i32(std::vector<int32_t> values) {
    return tensor_from_host({DType::i32, {int64_t(values.size())}, {}}, values.data());
}

// Shapes of x, arithmetic on them, and what a shape on the input `target` makes of x.
struct Sample {
    Sample() {
        GraphBuilder builder;
        Tensor x = builder.input({DType::f32, {2, 6}, {}}, "x");
        Tensor target = builder.input({DType::i32, {2}, {}}, "target");
        InterpreterScope scope(builder);
        Tensor shape = ops::shape_of(x);
        Tensor doubled = ops::add(shape, shape);
        Tensor two = builder.symbol(builder.value_of(i32({2, 2})));
        Tensor constant = ops::mul(two, two);
        Tensor reshaped = ops::reshape({x, target});
        Tensor taken = ops::cond_take(x, ops::greater(x, x))[0];
        builder.set_outputs({doubled, constant, ops::exp(reshaped), ops::exp(taken), ops::sum(x)});
        graph = builder.take();
    }
    ValueId x() const { return graph.inputs()[0]; }
    ValueId target() const { return graph.inputs()[1]; }
    ValueId doubled() const { return graph.outputs()[0]; }
    ValueId constant() const { return graph.outputs()[1]; }
    ValueId reshaped() const { return graph.outputs()[2]; }
    ValueId taken() const { return graph.outputs()[3]; }
    ValueId sum() const { return graph.outputs()[4]; }
    Graph graph;
};

TEST(StaticInference, ReportsValuesAndSources) {
    Sample sample;
    StaticInference infer(sample.graph);
    EXPECT_THAT(ints_of(infer.value(sample.doubled())), ElementsAre(4, 12));
    EXPECT_EQ(infer.value_source(sample.doubled()), InferSource::run_static);
    EXPECT_THAT(ints_of(infer.value(sample.constant())), ElementsAre(4, 4));
    EXPECT_EQ(infer.value_source(sample.constant()), InferSource::constant);
    EXPECT_EQ(infer.shape_source(sample.constant()), InferSource::constant);

    EXPECT_EQ(infer.shape_source(sample.reshaped()), InferSource::missing);
    EXPECT_FALSE(infer.find_shape(sample.reshaped()));
    EXPECT_THAT(error_of([&] { infer.shape(sample.reshaped()); }),
                HasSubstr("[static inference] the shape of 'exp#"));
    EXPECT_THAT(error_of([&] { infer.shape(sample.reshaped()); }), HasSubstr("is missing an input"));
    infer.set_value(sample.target(), i32({3, 4}));
    EXPECT_EQ(infer.shape(sample.reshaped()), (Shape{3, 4}));
    EXPECT_EQ(infer.shape_source(sample.reshaped()), InferSource::run_static);

    EXPECT_EQ(infer.shape_source(sample.taken()), InferSource::unknown);
    EXPECT_EQ(infer.value_source(sample.sum()), InferSource::missing) << "x would tell";
    EXPECT_FALSE(infer.find_value(sample.sum()));
    EXPECT_THAT(error_of([&] { infer.value(sample.sum()); }), HasSubstr("is missing an input"));
}

TEST(StaticInference, ChangeReachesItsReadersOnly) {
    Sample sample;
    StaticInference infer(sample.graph);
    for (ValueId id : sample.graph.outputs()) infer.find_value(id);
    size_t all = infer.evaluations();
    EXPECT_EQ(all, sample.graph.nodes().size());
    for (ValueId id : sample.graph.outputs()) infer.find_value(id);
    EXPECT_EQ(infer.evaluations(), all) << "nothing has changed";
    infer.set_value(sample.target(), i32({12, 1}));
    for (ValueId id : sample.graph.outputs()) infer.find_value(id);
    EXPECT_EQ(infer.evaluations(), all + 2) << "reshape and exp";
    infer.set_shape(sample.x(), {4, 3});
    EXPECT_THAT(ints_of(infer.value(sample.doubled())), ElementsAre(8, 6));
    EXPECT_EQ(infer.evaluations(), all + 4) << "shape_of and add; the others when they are asked for";
    infer.set_value(sample.target(), {});
    EXPECT_FALSE(infer.find_shape(sample.reshaped()));
    EXPECT_THAT(ints_of(infer.value(sample.constant())), ElementsAre(4, 4));
}

TEST(StaticInference, RejectsMismatchedShapes) {
    Sample sample;
    StaticInference infer(sample.graph);
    EXPECT_THAT(error_of([&] { infer.set_value(sample.target(), scalar_tensor(1, DType::f32)); }),
                HasSubstr("input 'target' is int32, got float32"));
    EXPECT_THAT(error_of([&] { infer.set_shape(sample.doubled(), {2}); }),
                HasSubstr("is not an input of the graph"));
    EXPECT_THAT(error_of([&] { infer.value(1000); }), HasSubstr("there is no value 1000"));
    infer.set_value(sample.target(), i32({5, 5}));
    EXPECT_THAT(error_of([&] { infer.shape(sample.reshaped()); }), HasSubstr("[reshape]"));
    infer.set_value(sample.target(), i32({6, 2}));
    EXPECT_EQ(infer.shape(sample.reshaped()), (Shape{6, 2})) << "an error leaves it usable";
}

TEST(StaticInference, FollowsLongChains) {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    InterpreterScope scope(builder);
    for (int i = 0; i < 20000; ++i) x = ops::neg(x);
    builder.set_outputs({x});
    Graph graph = builder.take();
    StaticInference infer(graph);
    EXPECT_EQ(infer.shape(graph.outputs()[0]), Shape{3});
}

}  // namespace
}  // namespace mge::test
