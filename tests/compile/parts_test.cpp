// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }
Tensor four(float value) {
    std::vector<float> values(4, value);
    return tensor_from_host(f32({4}), values.data());
}
float first(const Tensor& tensor) { return tensor.data<float>()[0]; }

// y = −x, z = y + t, u = z · y
struct Sample {
    Sample() {
        GraphBuilder builder;
        Tensor x = builder.input(f32({4}), "x"), t = builder.input(f32({4}), "t");
        InterpreterScope scope(builder);
        Tensor y = ops::neg(x), z = ops::add(y, t), u = ops::mul(z, y);
        builder.set_outputs({u});
        graph = builder.take();
    }
    ValueId y() const { return graph.node(0).outputs[0]; }
    ValueId z() const { return graph.node(1).outputs[0]; }
    ValueId u() const { return graph.node(2).outputs[0]; }
    Graph graph;
};

TEST(Parts, ContinueWithRemainingValues) {
    Sample sample;
    PartedExecutable parts(sample.graph, {{sample.y()}, {sample.z()}, {sample.u()}}, {});
    EXPECT_EQ(parts.size(), 3u);
    EXPECT_THAT(parts.inputs(0), ElementsAre("x"));
    EXPECT_THAT(parts.inputs(1), ElementsAre("t"));
    EXPECT_THAT(parts.inputs(2), IsEmpty());
    for (float x : {2.F, 3.F}) {
        EXPECT_EQ(first(parts.run(0, {{"x", four(x)}})[0]), -x);
        EXPECT_EQ(parts.waiting_bytes(), 16u);
        EXPECT_EQ(first(parts.run(1, {{"t", four(10)}})[0]), 10 - x);
        EXPECT_EQ(parts.waiting_bytes(), 32u);
        EXPECT_EQ(first(parts.run(2, {})[0]), (10 - x) * -x);
        EXPECT_EQ(parts.waiting_bytes(), 0u) << "each is given up after its last part";
    }
}

TEST(Parts, AnAbandonedPassIsForgotten) {
    Sample sample;
    PartedExecutable parts(sample.graph, {{}, {sample.y(), sample.z()}, {sample.u(), sample.y()}}, {});
    EXPECT_THAT(parts.run(0, {}), IsEmpty()) << "a part may be empty";
    EXPECT_EQ(parts.run(1, {{"x", four(1)}, {"t", four(2)}}).size(), 2u);
    EXPECT_EQ(parts.waiting_bytes(), 32u);
    parts.run(0, {});
    EXPECT_EQ(parts.waiting_bytes(), 0u);
    parts.run(1, {{"x", four(1)}, {"t", four(5)}});
    Tensors last = parts.run(2, {});
    EXPECT_EQ(first(last[0]), -4);
    EXPECT_EQ(first(last[1]), -1);
}

TEST(Parts, EffectsStayInOrder) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({4}), "x");
    ValueId y, z;
    {
        InterpreterScope scope(builder);
        Tensor a = ops::exp(x);
        ops::assert_equal(x, builder.symbol(builder.value_of(four(1))));
        Tensor b = ops::neg(a), c = ops::neg(b);
        ops::assert_equal(a, a);
        y = builder.value_of(b);
        z = builder.value_of(c);
        builder.set_outputs({c});
    }
    PartedExecutable parts(builder.take(), {{y}, {z}}, {});
    EXPECT_THAT(error_of<Error>([&] { parts.run(0, {{"x", four(2)}}); }), HasSubstr("[assert_equal] error"));
    EXPECT_THAT(error_of([&] { parts.run(1, {}); }), HasSubstr("part 1 was asked for when part 0 was next"));
    parts.run(0, {{"x", four(1)}});
    EXPECT_FLOAT_EQ(first(parts.run(1, {})[0]), std::exp(1.F));
}

TEST(Parts, KeepExtraDependencies) {
    Sample sample;
    CompileOptions options;
    // t is not read before x has been negated: the sum's part is the second one anyway.
    options.extra_vardeps = {{sample.graph.inputs()[1], {sample.y()}}};
    PartedExecutable parts(sample.graph, {{sample.z()}, {sample.u()}}, options);
    EXPECT_EQ(first(parts.run(0, {{"x", four(1)}, {"t", four(4)}})[0]), 3);
    EXPECT_EQ(first(parts.run(1, {})[0]), -3);
}

TEST(Parts, RejectInvalidOrdersInputsAndOptions) {
    Sample sample;
    PartedExecutable parts(sample.graph, {{sample.y()}, {sample.z()}}, {});
    EXPECT_THAT(error_of([&] {
                    parts.run(1, {{"t", four(1)}});
                }),
                HasSubstr("[parts] part 1 was asked for when part 0 was next"));
    EXPECT_THAT(error_of([&] { parts.run(0, {}); }), HasSubstr("part 0 needs the input 'x'"));
    EXPECT_THAT(error_of([&] { parts.run(0, {{"t", four(1)}}); }), HasSubstr("part 0 has no input 't'"));
    EXPECT_THAT(error_of([&] { parts.run(2, {}); }), HasSubstr("there is no part 2; there are 2"));
    auto refused = [&](const CompileOptions& options) {
        return error_of([&] { PartedExecutable(sample.graph, {{sample.y()}}, options); });
    };
    EXPECT_THAT(refused({.fake_next_exec = true}), HasSubstr("fake_next_exec must be off"));
    EXPECT_THAT(refused({.comp_node_seq_record_level = 1}),
                HasSubstr("comp_node_seq_record_level must be 0"));
    EXPECT_THAT(error_of([&] { PartedExecutable(sample.graph, {{77}}, {}); }),
                HasSubstr("there is no value 77"));
    EXPECT_THAT(error_of([&] { PartedExecutable(sample.graph, {}, {}); }), HasSubstr("at least one part"));
}

}  // namespace
}  // namespace mge::test
