// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/graph/inner_graph.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Function = std::function<Tensors(std::span<const Tensor>)>;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }
TensorSpec i32(Shape shape) { return {DType::i32, shape, {}}; }
SubgraphRef graph(std::initializer_list<TensorSpec> inputs, const Function& function) {
    return make_subgraph(TensorSpecs(inputs), function);
}
Tensor number(float value) { return ops::full({.shape = {1}, .value = value}); }

// y = w x, or y = x² + w.
ops::Cond::Params two_ways(const Shape& shape) {
    return {graph({f32(shape), f32(shape)}, [](auto in) -> Tensors { return {ops::mul(in[0], in[1])}; }),
            graph({f32(shape), f32(shape)},
                  [](auto in) -> Tensors { return {ops::add(ops::mul(in[0], in[0]), in[1])}; })};
}

// Adds w to x, and one to a counter, until the counter is n.
ops::WhileLoop::Params count_up(int64_t max_steps, bool keep = false) {
    auto specs = {i32({1}), f32({3}), f32({3}), i32({1})};
    return {graph(specs, [](auto in) -> Tensors { return {ops::less(in[0], in[3])}; }),
            graph(specs,
                  [](auto in) -> Tensors {
                      Tensor one = ops::full({.shape = {1}, .value = 1, .dtype = DType::i32});
                      return {ops::add(in[0], one), ops::tanh(ops::add(ops::mul(in[1], in[2]), in[2]))};
                  }),
            2, max_steps, keep};
}

// h' = tanh(h w + x), y = h' h.
ops::Scan::Params recurrence(bool reverse, bool keep = false) {
    return {.body = graph({f32({2}), f32({2}), f32({2})},
                          [](auto in) -> Tensors {
                              Tensor h = ops::tanh(ops::add(ops::mul(in[0], in[2]), in[1]));
                              return {h, ops::mul(h, in[0])};
                          }),
            .carried = 1,
            .sliced = 1,
            .reverse = reverse,
            .keep_steps = keep};
}

TEST(Cond, ComputesOneBranch) {
    auto params = two_ways({3});
    Tensor x = tensor_of<float>({3}, {1, 2, 3}), w = tensor_of<float>({3}, {10, 20, 30});
    EXPECT_THAT(values_of(ops::cond({number(2), x, w}, params)[0]), ElementsAre(10, 40, 90));
    EXPECT_THAT(values_of(ops::cond({number(-0.0F), x, w}, params)[0]), ElementsAre(11, 24, 39));
}

TEST(Cond, PassesTheHarness) {
    for (double predicate : {0.0, 1.0})
        check_op<ops::Cond>(
            two_ways({2, 3}),
            {{.shape = {1}, .dtype = DType::i32, .differentiate = false, .values = {predicate}},
             {.shape = {2, 3}},
             {.shape = {2, 3}}});
}

TEST(Cond, ShapesMayDiffer) {
    ops::Cond::Params params{graph({f32({4})}, [](auto in) -> Tensors { return {in[0]}; }),
                             graph({f32({4})}, [](auto in) -> Tensors {
                                 return {ops::split(in[0], {.axis = 0, .sizes = {2, 2}})[0]};
                             })};
    Tensor x = tensor_of<float>({4}, {1, 2, 3, 4});
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor flag = builder.input(f32({1}), "flag"), in = builder.input(f32({4}), "x");
        Tensor y = ops::cond({flag, in}, params)[0];
        EXPECT_FALSE(y.shape().is_known());
        builder.set_outputs({ops::add(y, y)});
    }
    Executable executable(builder.take(), {});
    Tensors longer{number(1), x}, shorter{number(0), x};
    EXPECT_THAT(values_of(executable.run(longer)[0]), ElementsAre(2, 4, 6, 8));
    EXPECT_THAT(values_of(executable.run(shorter)[0]), ElementsAre(2, 4));
    EXPECT_THAT(values_of(ops::cond({number(0), x}, params)[0]), ElementsAre(1, 2));
}

// The branch is known only at run time: a run that takes a graph that does not accept the operands ends with
// an error.
TEST(Cond, OneMatchingBranchSuffices) {
    auto first_two = [](auto in) -> Tensors { return {ops::split(in[0], {.axis = 0, .sizes = {2, 2}})[0]}; };
    ops::Cond::Params params{graph({f32({4})}, [](auto in) -> Tensors { return {ops::neg(in[0])}; }),
                             graph({f32({4})}, first_two)};
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor flag = builder.input(f32({1}), "flag"), in = builder.input(f32({4}), "x");
        builder.set_outputs({ops::cond({flag, in}, params)[0]});
    }
    Executable executable(builder.take(), {});
    Tensor x = tensor_of<float>({3}, {1, 2, 3});
    Tensors fits{number(1), x}, fails{number(0), x};
    EXPECT_THAT(values_of(executable.run(fits)[0]), ElementsAre(-1, -2, -3));
    EXPECT_THAT(error_of<Error>([&] { executable.run(fails); }), HasSubstr("[cond] else_graph: [split]"));
    EXPECT_THAT(values_of(ops::cond({number(1), x}, params)[0]), ElementsAre(-1, -2, -3));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(0), x}, params);
                }),
                HasSubstr("[cond] else_graph: [split]"));
    // None is.
    params.then_graph = params.else_graph;
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(1), x}, params);
                }),
                HasSubstr("[cond] then_graph: [split]"));
}

// Their memory may be nowhere.
TEST(Cond, AcceptsEmptyTensors) {
    check_op<ops::Cond>(
        two_ways({0, 3}),
        {{.shape = {1}, .dtype = DType::i32, .differentiate = false}, {.shape = {0, 3}}, {.shape = {0, 3}}});
    auto params = two_ways({0});
    auto body = graph({f32({0}), f32({1})}, [&](auto in) -> Tensors {
        return {ops::cond({in[1], in[0], in[0]}, params)[0]};
    });
    check_op<ops::Scan>({.body = body, .length = 2}, {{.shape = {0}}, {.shape = {1}, .values = {1}}});
}

TEST(Cond, RefusesGraphsThatDisagree) {
    auto one = graph({f32({2})}, [](auto in) -> Tensors { return {in[0]}; });
    auto two = graph({f32({2})}, [](auto in) -> Tensors { return {in[0], in[0]}; });
    auto integer = graph({f32({2})}, [](auto in) -> Tensors { return {convert_dtype(in[0], DType::i32)}; });
    Tensor x = tensor_of<float>({2}, {1, 2});
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({x, x}, {one, one});
                }),
                HasSubstr("the predicate must be one element"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(1), x}, {one, two});
                }),
                HasSubstr("one graph has 1 result, the other 2"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(1), x}, {one, integer});
                }),
                HasSubstr("result 0 is"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(1), x, x}, {one, one});
                }),
                HasSubstr("takes 1 operand, got 2"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::cond({number(1), x}, {});
                }),
                HasSubstr("parameter 'then_graph' must be a graph"));
}

TEST(WhileLoop, RunsUntilTheConditionFails) {
    Tensor zero = tensor_of<int32_t>({1}, {0}), n = tensor_of<int32_t>({1}, {3});
    Tensor x = tensor_of<float>({3}, {1, 2, 3}), w = tensor_of<float>({3}, {0.5, 0.5, 0.5});
    auto results = ops::while_loop({zero, x, w, n}, count_up(0));
    ASSERT_EQ(results.size(), 3U);
    EXPECT_THAT(values_of(results[0]), ElementsAre(3));
    EXPECT_THAT(values_of(results[2]), ElementsAre(3));
    float expected = 2;
    for (int i = 0; i < 3; ++i) expected = std::tanh(expected * 0.5F + 0.5F);
    EXPECT_NEAR(values_of(results[1])[1], expected, 1e-6);
    EXPECT_THAT(values_of(ops::while_loop({n, x, w, n}, count_up(0))[1]), ElementsAre(1, 2, 3));
    EXPECT_THAT(values_of(ops::while_loop({zero, x, w, n}, count_up(2))[2]), ElementsAre(2));
}

TEST(WhileLoop, KeepsItsSteps) {
    Tensor zero = tensor_of<int32_t>({1}, {0}), n = tensor_of<int32_t>({1}, {2});
    Tensor x = tensor_of<float>({3}, {1, 2, 3}), w = tensor_of<float>({3}, {0, 0, 0});
    auto results = ops::while_loop({zero, x, w, n}, count_up(4, true));
    ASSERT_EQ(results.size(), 5U);
    EXPECT_THAT(values_of(results[3]), ElementsAre(0, 1, 0, 0));
    EXPECT_EQ(results[4].shape(), Shape({4, 3}));
    auto kept = values_of(results[4]);
    EXPECT_THAT(std::vector<double>(kept.begin(), kept.begin() + 3), ElementsAre(1, 2, 3));
}

TEST(WhileLoop, PassesTheHarness) {
    for (bool keep : {false, true})
        for (double n : {0.0, 1.0, 3.0, 5.0})
            check_op<ops::WhileLoop>(count_up(4, keep),
                                     {{.shape = {1}, .dtype = DType::i32, .values = {0}},
                                      {.shape = {3}},
                                      {.shape = {3}},
                                      {.shape = {1}, .dtype = DType::i32, .values = {n}}},
                                     {.looser = 4});  // four steps
}

TEST(WhileLoop, NeedsALimitForItsGradient) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor zero = builder.input(i32({1}), "i"), x = builder.input(f32({3}), "x");
    Tensor y = ops::while_loop({zero, x, x, zero}, count_up(0))[1];
    Graph made = builder.graph();
    ValueId id = builder.value_of(y);
    EXPECT_THAT(error_of<Error>([&] { add_gradient(made, {id}, {id}, {made.inputs()[1]}); }),
                HasSubstr("[while_loop] its gradient needs a limit: set max_steps"));
}

TEST(WhileLoop, RefusesAChangingSpec) {
    auto yes = graph({f32({2})}, [](auto) -> Tensors { return {number(1)}; });
    auto longer = graph({f32({2})}, [](auto in) -> Tensors { return {ops::concat({in[0], in[0]})}; });
    Tensor x = tensor_of<float>({2}, {1, 2});
    EXPECT_THAT(error_of<Error>([&] {
                    ops::while_loop({x}, {yes, longer});
                }),
                HasSubstr("a step changes carried value 0 from"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::while_loop({x}, {longer, longer});
                }),
                HasSubstr("the condition must be one element"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::while_loop({x}, {yes, yes, 2});
                }),
                HasSubstr("carried is 2 of 1 operand"));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::while_loop({x}, {yes, yes, 1, -1});
                }),
                HasSubstr("max_steps is -1"));
}

TEST(Scan, IteratesOverTheFirstAxis) {
    Tensor h = tensor_of<float>({2}, {0, 1}), w = tensor_of<float>({2}, {0, 0});
    Tensor xs = tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
    for (bool reverse : {false, true}) {
        auto results = ops::scan({h, xs, w}, recurrence(reverse));
        EXPECT_NEAR(values_of(results[0])[0], std::tanh(reverse ? 1.0 : 5.0), 1e-6);
        EXPECT_EQ(results[1].shape(), Shape({3, 2}));
        EXPECT_NEAR(values_of(results[1])[reverse ? 2 : 4], std::tanh(3.0) * std::tanh(5.0), 1e-6);
    }
}

TEST(Scan, PassesTheHarness) {
    for (bool reverse : {false, true})
        for (bool keep : {false, true})
            for (int64_t length : {0, 1, 4})
                check_op<ops::Scan>(recurrence(reverse, keep),
                                    {{.shape = {2}}, {.shape = {length, 2}}, {.shape = {2}}},
                                    {.looser = 4});  // four steps
}

TEST(Scan, MayHaveNoSlices) {
    ops::Scan::Params doubling{
        .body = graph({f32({1})}, [](auto in) -> Tensors { return {ops::add(in[0], in[0])}; }), .length = 5};
    EXPECT_THAT(values_of(ops::scan({number(1)}, doubling)[0]), ElementsAre(32));
    check_op<ops::Scan>(doubling, {{.shape = {1}}});
}

// The gradients of a body differ by what is carried, though their operands have the same shapes.
TEST(Scan, TwoMayShareABody) {
    ops::Scan::Params slicing{.body = graph({f32({1}), f32({1})},
                                            [](auto in) -> Tensors {
                                                return {ops::mul(in[0], in[1]), ops::add(in[0], in[1])};
                                            }),
                              .carried = 1,
                              .sliced = 1};
    ops::Scan::Params carrying = slicing;
    carrying.carried = 2;
    carrying.sliced = 0;
    carrying.length = 2;
    check_op<ops::Scan>(slicing, {{.shape = {1}}, {.shape = {2, 1}}});
    check_op<ops::Scan>(carrying, {{.shape = {1}}, {.shape = {1}}});
}

// The carried values may be the inputs, exchanged.
TEST(Scan, SwapsCarriedValues) {
    ops::Scan::Params params{.body = graph({f32({1}), f32({1})},
                                           [](auto in) -> Tensors {
                                               return {in[1], in[0], in[0]};
                                           }),
                             .carried = 2,
                             .length = 3};
    auto results = ops::scan({number(1), number(2)}, params);
    EXPECT_THAT(values_of(results[0]), ElementsAre(2));
    EXPECT_THAT(values_of(results[1]), ElementsAre(1));
    EXPECT_THAT(values_of(results[2]), ElementsAre(1, 2, 1));
}

// The non-zero elements of each slice: those of all slices have to be as many.
TEST(Scan, CollectsSlicesOfRunTimeShapes) {
    auto chosen = [](const Tensor& x) -> Tensor {
        return ops::cond_take(x, ops::not_equal(x, number(0)))[0];
    };
    ops::Scan::Params params{.body = graph({f32({2}), f32({3})},
                                           [&](auto in) -> Tensors {
                                               Tensor found = chosen(in[1]);
                                               return {ops::add(in[0], found), found};
                                           }),
                             .carried = 1,
                             .sliced = 1};
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor h = builder.input(f32({2}), "h"), xs = builder.input(f32({2, 3}), "xs");
        auto results = ops::scan({h, xs}, params);
        EXPECT_EQ(results[0].shape(), Shape({2}));
        EXPECT_FALSE(results[1].shape().is_known());
        builder.set_outputs({results[0], ops::add(results[1], results[1])});
    }
    Executable executable(builder.take(), {});
    Tensor h = tensor_of<float>({2}, {10, 20});
    for (bool reverse : {false, true}) {
        params.reverse = reverse;
        auto results = ops::scan({h, tensor_of<float>({2, 3}, {1, 0, 2, 0, 3, 4})}, params);
        EXPECT_THAT(values_of(results[0]), ElementsAre(14, 26));
        EXPECT_EQ(results[1].shape(), Shape({2, 2}));
        EXPECT_THAT(values_of(results[1]), ElementsAre(1, 2, 3, 4));
    }
    Tensors inputs{h, tensor_of<float>({2, 3}, {0, 5, 6, 7, 8, 0})};
    EXPECT_THAT(values_of(executable.run(inputs)[0]), ElementsAre(22, 34));
    EXPECT_THAT(values_of(executable.run(inputs)[1]), ElementsAre(10, 12, 14, 16));
    EXPECT_THAT(error_of<Error>([&] {
                    ops::scan({h, tensor_of<float>({1, 3}, {1, 2, 3})}, params);
                }),
                HasSubstr("add"));
    params.body = graph({f32({2}), f32({3})}, [&](auto in) -> Tensors {
        return {ops::add(in[0], in[0]), chosen(in[1])};
    });
    EXPECT_THAT(error_of<Error>([&] {
                    ops::scan({h, tensor_of<float>({2, 3}, {1, 0, 2, 0, 3, 0})}, params);
                }),
                HasSubstr("result 1 of its body is float32(1,) in one step and float32(2,) in another"));
    EXPECT_EQ(ops::scan({h, tensor_of<float>({0, 3}, {})}, params)[1].shape(), Shape({0}));
    params.body = graph({f32({2}), f32({3})}, [&](auto in) -> Tensors { return {chosen(in[1])}; });
    EXPECT_THAT(error_of<Error>([&] {
                    ops::scan({h, tensor_of<float>({1, 3}, {1, 2, 3})}, params);
                }),
                HasSubstr("result 0 of its body is float32(2,) in one step and float32(3,) in another"));
}

TEST(Scan, HoldsOtherLoops) {
    auto inner = graph({f32({1}), f32({1})}, [](auto in) -> Tensors {
        ops::Scan::Params params{
            .body = graph({f32({1}), f32({1})}, [](auto x) -> Tensors { return {ops::mul(x[0], x[1])}; }),
            .length = 2};
        return {ops::scan({in[0], in[1]}, params)[0]};
    });
    ops::Scan::Params params{.body = inner, .length = 3};
    EXPECT_THAT(values_of(ops::scan({number(1), number(2)}, params)[0]), ElementsAre(64));
    check_op<ops::Scan>(params,
                        {{.shape = {1}, .low = 0.5, .high = 1.5}, {.shape = {1}, .low = 0.5, .high = 1.5}},
                        {.looser = 8});  // six products
}

TEST(Scan, RejectsInvalidOperands) {
    Tensor h = tensor_of<float>({2}, {0, 1}), xs = tensor_of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
    auto params = recurrence(false);
    params.sliced = 2;
    EXPECT_THAT(error_of<Error>([&] {
                    ops::scan({h, xs, h}, params);
                }),
                HasSubstr("xs differ in the size of their first axis: 3 and 2"));
    params.sliced = 5;
    EXPECT_THAT(error_of<Error>([&] {
                    ops::scan({h, xs, h}, params);
                }),
                HasSubstr("carried is 1, sliced 5, length 0 with 3 operands"));
}

// Weights that no step changes become constants inside, where they can be packed.
TEST(SinkConstants, EntersLoops) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor h = builder.input(f32({2}), "h"), xs = builder.input(f32({3, 2}), "xs");
    Tensor w = tensor_of<float>({2}, {0.5, -1});
    builder.set_outputs(ops::scan({h, xs, w}, recurrence(false)));
    Graph before = builder.take();
    CompileOptions options{.verify_passes = true};
    auto program = Program::compile(before, options);
    ASSERT_EQ(program->steps().size(), 1U);
    EXPECT_EQ(program->steps()[0].inputs.size(), 2U);
    options.passes["sink_constants"] = false;
    EXPECT_EQ(Program::compile(before, options)->steps()[0].inputs.size(), 3U);
}

TEST(Subgraph, IsPrintedBelowItsOperator) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor flag = builder.input(f32({1}), "flag"), x = builder.input(f32({3}), "x");
    builder.set_outputs(ops::cond({flag, x, x}, two_ways({3})));
    std::string shown = to_text(builder.graph());
    EXPECT_THAT(shown, HasSubstr("  then_graph:\n    input in0:in_0 float32(3,)\n"));
    EXPECT_THAT(shown, HasSubstr("  else_graph:\n"));
    EXPECT_THAT(to_json(builder.graph()), HasSubstr("\"then_graph\": {\n  \"inputs\": [0, 1]"));
}

TEST(Subgraph, ComparesByContent) {
    auto equal = [](const ops::Cond::Params& a, const ops::Cond::Params& b) {
        return ops::Cond::info.params.equal(&a, &b);
    };
    EXPECT_TRUE(equal(two_ways({3}), two_ways({3})));
    EXPECT_TRUE(equal(two_ways({3}), two_ways({4})));  // shapes follow from the operands
    auto plus = [](float value) {
        return graph({f32({1})}, [value](auto in) -> Tensors { return {ops::add(in[0], number(value))}; });
    };
    EXPECT_TRUE(plus(1) == plus(1));
    EXPECT_FALSE(plus(1) == plus(2));
}

TEST(AssertEqual, FailsTheRunWhenUnread) {
    Tensor x = tensor_of<float>({2}, {1, 2}), y = tensor_of<float>({2}, {1, 2.5});
    EXPECT_THAT(values_of(ops::assert_equal(x, x)), ElementsAre(0));
    EXPECT_THAT(error_of<Error>([&] { ops::assert_equal(x, y); }),
                HasSubstr("[assert_equal] error 0.25, the limit is 0.0001"));
    EXPECT_THAT(error_of<Error>([&] { ops::assert_equal(x, tensor_of<float>({1}, {1})); }),
                HasSubstr("the shapes differ"));
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor a = builder.input(f32({2}), "a");
        ops::assert_equal(a, x);
        ops::assert_equal(a, x);
        builder.set_outputs({ops::add(a, a)});
    }
    Graph made = builder.take();
    Executable executable(made, {.verify_passes = true});
    EXPECT_EQ(executable.program_for({f32({2})})->steps().size(), 3U);
    EXPECT_THAT(values_of(executable.run({&x, 1})[0]), ElementsAre(2, 4));
    EXPECT_THAT(error_of<Error>([&] { executable.run({&y, 1}); }), HasSubstr("[assert_equal] error 0.25"));
    EXPECT_THAT(values_of(executable.run({&x, 1})[0]), ElementsAre(2, 4));
}

}  // namespace
}  // namespace mge::test
