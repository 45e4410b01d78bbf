// SPDX-License-Identifier: Apache-2.0
// Shapes that are known only at run time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

std::vector<float> floats_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}
Tensor ints(std::vector<int32_t> values) {
    return tensor_from_host({DType::i32, {int64_t(values.size())}, {}}, values.data());
}
TensorSpec i32(Shape shape) { return {DType::i32, shape, {}}; }

TEST(DynamicShapes, AreFoundWhileRunning) {
    Graph graph = record({f32({6}), i32({2})}, [](const Tensors& x) {
        Tensor doubled = ops::add(x[0], x[0]);
        Tensor matrix = ops::reshape(doubled, x[1]);
        return Tensors{ops::transpose(matrix, {.pattern = {1, 0}}), ops::add(doubled, x[0])};
    });
    EXPECT_FALSE(graph.value(graph.outputs()[0]).spec.shape.is_known());
    Executable executable(graph, {});
    Tensor x = constant({6}, {1, 2, 3, 4, 5, 6});
    Tensors wide = executable.run(std::vector{x, ints({2, 3})});
    EXPECT_EQ(wide[0].shape(), (Shape{3, 2}));
    EXPECT_THAT(floats_of(wide[0]), ElementsAre(2, 8, 4, 10, 6, 12));
    EXPECT_THAT(floats_of(wide[1]), ElementsAre(3, 6, 9, 12, 15, 18));
    Tensors high = executable.run(std::vector{x, ints({3, 2})});
    EXPECT_EQ(high[0].shape(), (Shape{2, 3}));
    EXPECT_THAT(floats_of(high[0]), ElementsAre(2, 6, 10, 4, 8, 12));
    EXPECT_THAT(floats_of(wide[0]), ElementsAre(2, 8, 4, 10, 6, 12)) << "results outlive the next run";
}

TEST(DynamicShapes, ViewsDoNotKeepPlannedMemory) {
    // `doubled` is dead for the plan after the reshape; later buffers may take its place, the view may not
    // care.
    Graph graph = record({f32({4}), i32({2})}, [](const Tensors& x) {
        Tensor doubled = ops::add(x[0], x[0]);
        Tensor view = ops::reshape(doubled, x[1]);
        Tensor y = ops::transpose(ops::reshape(x[0], {.shape = {2, 2}}), {.pattern = {1, 0}});
        for (int i = 0; i < 3; ++i) y = ops::transpose(ops::add(y, y), {.pattern = {1, 0}});
        return Tensors{view, y};
    });
    Tensors outputs = Executable(graph, {}).run(std::vector{constant({4}, {1, 2, 3, 4}), ints({4, 1})});
    EXPECT_THAT(floats_of(outputs[0]), ElementsAre(2, 4, 6, 8));
    EXPECT_EQ(outputs[0].shape(), (Shape{4, 1}));
}

TEST(DynamicShapes, ComeFromOperatorsWithDynamicResults) {
    Graph graph = record({f32({6}), {DType::boolean, {6}, {}}}, [](const Tensors& x) {
        Tensors taken = ops::cond_take(ops::add(x[0], x[0]), x[1]);
        Tensor y = ops::mul(taken[0], taken[0]);
        return Tensors{ops::sum(y), ops::relu(taken[0]), taken[1], ops::relu(x[0])};
    });
    Executable executable(graph, {});
    Tensor x = constant({6}, {1, -2, 3, -4, 5, -6});
    auto run = [&](std::vector<uint8_t> mask) {
        Tensor chosen = tensor_from_host({DType::boolean, {6}, {}}, mask.data());
        return executable.run(std::vector{x, chosen});
    };
    for (int repeat = 0; repeat < 3; ++repeat) {
        Tensors some = run({1, 1, 0, 0, 1, 0});
        EXPECT_THAT(floats_of(some[0]), ElementsAre(4 + 16 + 100));
        EXPECT_THAT(floats_of(some[1]), ElementsAre(2, 0, 10));
        EXPECT_EQ(some[2].shape(), (Shape{3}));
        EXPECT_EQ(some[2].data<int32_t>()[2], 4);
        EXPECT_THAT(floats_of(some[3]), ElementsAre(1, 0, 3, 0, 5, 0));
        Tensors none = run({0, 0, 0, 0, 0, 0});
        EXPECT_EQ(none[1].shape(), (Shape{0}));
        EXPECT_THAT(floats_of(none[0]), ElementsAre(0));
        EXPECT_THAT(floats_of(some[1]), ElementsAre(2, 0, 10)) << "results outlive the next run";
    }
}

TEST(DynamicShapes, ErrorsReachTheCaller) {
    Graph graph =
        record({f32({6}), i32({2})}, [](const Tensors& x) { return Tensors{ops::reshape(x[0], x[1])}; });
    auto context = Context::create(Program::compile(graph, {}));
    static_cast<int32_t*>(context->input(1))[0] = 5;
    static_cast<int32_t*>(context->input(1))[1] = 5;
    EXPECT_THROW(context->run(), UserError);
    context->start();
    EXPECT_THROW(context->wait(), UserError);
    static_cast<int32_t*>(context->input(1))[0] = 2;
    static_cast<int32_t*>(context->input(1))[1] = 3;
    context->start();
    context->wait();
    EXPECT_EQ(context->output(0).shape(), (Shape{2, 3}));
}

TEST(DynamicShapes, FollowFromInputShapesWhereTheyCan) {
    // The target is computed from the shape of an input: no dynamic step, and right for each new shape.
    Graph graph = record({f32({2, 3})}, [](const Tensors& x) {
        Tensor columns = ops::shape_of(x[0], {.axis = 1});
        return Tensors{ops::reshape(x[0], ops::concat({ops::reshape(columns, {.shape = {1}}), ints({-1})}))};
    });
    Executable executable(graph, {});
    EXPECT_EQ(executable.run(std::vector{constant({2, 3}, {1})})[0].shape(), (Shape{3, 2}));
    EXPECT_EQ(executable.run(std::vector{constant({4, 5}, {1})})[0].shape(), (Shape{5, 4}));
    EXPECT_EQ(executable.program_for({f32({4, 5})})->steps().size(), 0u);
}

}  // namespace
}  // namespace mge::test
