// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::ElementsAre;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }
Tensor vector_of(std::vector<float> values) {
    return tensor_from_host(f32({int64_t(values.size())}), values.data());
}
std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

// y = [a + b, a] as a column, s = a + b
Graph small_graph() {
    GraphBuilder builder;
    Tensor a = builder.input(f32({2}), "a"), b = builder.input(f32({2}), "b");
    InterpreterScope scope(builder);
    Tensor s = ops::add(a, b);
    builder.set_outputs({ops::reshape(ops::concat({s, a}), {.shape = {-1, 1}}), s});
    return builder.take();
}

TEST(Program, Runs) {
    auto program = Program::compile(small_graph(), {});
    EXPECT_EQ(program->inputs()[1].name, "b");
    EXPECT_EQ(program->outputs()[0].spec, f32({4, 1}));
    EXPECT_EQ(program->steps().size(), 2u) << "a view is no step";
    auto context = Context::create(program);
    float a[] = {1, 2}, b[] = {10, 20};
    std::memcpy(context->input(0), a, sizeof a);
    std::memcpy(context->input(1), b, sizeof b);
    context->run();
    EXPECT_THAT(values_of(context->output(0)), ElementsAre(11, 22, 1, 2));
    EXPECT_EQ(context->output(0).shape(), (Shape{4, 1}));
    EXPECT_THAT(values_of(context->output(1)), ElementsAre(11, 22));
}

TEST(Program, IsCompiledForTheSpecsOfItsInputs) {
    Graph graph = small_graph();
    auto program = Program::compile(graph, {f32({3}), f32({3})}, {});
    EXPECT_EQ(program->inputs()[0].spec, f32({3}));
    EXPECT_EQ(program->outputs()[0].spec, f32({6, 1}));
    EXPECT_THROW(Program::compile(graph, TensorSpecs{f32({3})}, {}), UserError);
    EXPECT_THROW(Program::compile(graph, {f32({3}), f32(Shape::unknown())}, {}), UserError);
}

TEST(Program, ReadsBoundInputs) {
    auto context = Context::create(Program::compile(small_graph(), {}));
    float a[] = {1, 2}, b[] = {10, 20}, c[] = {5, 6};
    std::memcpy(context->input(0), a, sizeof a);
    std::memcpy(context->input(1), b, sizeof b);
    context->bind_input(0, c);
    context->run();
    Tensor kept = context->copy_output(1);
    EXPECT_THAT(values_of(kept), ElementsAre(15, 26));
    context->bind_input(0, nullptr);
    context->start();
    context->wait();
    EXPECT_THAT(values_of(context->output(1)), ElementsAre(11, 22));
    EXPECT_THAT(values_of(kept), ElementsAre(15, 26));
}

TEST(Program, RefusesPortsThatDoNotExist) {
    auto context = Context::create(Program::compile(small_graph(), {}));
    EXPECT_THROW(context->input(2), UserError);
    EXPECT_THROW(context->output(7), UserError);
}

TEST(Executable, AcceptsNewShapesAndKeepsResults) {
    Executable executable(small_graph(), {});
    Tensors first = executable.run(std::vector{vector_of({1, 2}), vector_of({3, 4})});
    Tensors second = executable.run(std::vector{vector_of({1}), vector_of({2})});
    Tensors third = executable.run(std::vector{vector_of({5, 5}), vector_of({5, 5})});
    EXPECT_THAT(values_of(first[0]), ElementsAre(4, 6, 1, 2));
    EXPECT_THAT(values_of(first[1]), ElementsAre(4, 6));
    EXPECT_THAT(values_of(second[0]), ElementsAre(3, 1));
    EXPECT_THAT(values_of(third[0]), ElementsAre(10, 10, 5, 5));
    auto program = executable.program_for({f32({2}), f32({2})});
    EXPECT_EQ(program, executable.program_for({f32({2}), f32({2})}));
    EXPECT_NE(program, executable.program_for({f32({1}), f32({1})}));
}

TEST(Executable, RefusesWrongInputs) {
    Executable executable(small_graph(), {});
    EXPECT_THROW(executable.run(std::vector{vector_of({1})}), UserError);
    EXPECT_THROW(executable.run(std::vector{vector_of({1}), Tensor()}), UserError);
    int32_t one = 1;
    Tensor ints = tensor_from_host({DType::i32, {1}, {}}, &one);
    EXPECT_THROW(executable.run(std::vector{vector_of({1}), ints}), UserError);
    EXPECT_THROW(executable.run(std::vector{vector_of({1, 2}), vector_of({1, 2, 3})}), UserError);
}

TEST(Executable, ReturnsInputsAndConstants) {
    GraphBuilder builder;
    Tensor a = builder.input(f32({4}), "a"), c = vector_of({7});
    InterpreterScope scope(builder);
    builder.set_outputs({a, ops::reshape(a, {.shape = {2, 2}}), c});
    Executable executable(builder.take(), {});
    Tensor input = vector_of({1, 2, 3, 4});
    Tensors outputs = executable.run(std::vector{input});
    EXPECT_EQ(outputs[0].data(), input.data());
    EXPECT_EQ(outputs[1].shape(), (Shape{2, 2}));
    EXPECT_THAT(values_of(outputs[2]), ElementsAre(7));
}

}  // namespace
}  // namespace mge
