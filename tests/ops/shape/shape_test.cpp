// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

Tensor floats(const Shape& shape, std::vector<double> values) {
    return make_tensor(DType::f32, shape, values);
}
Tensor zeros(const Shape& shape) { return ops::full({.shape = IntList(shape.begin(), shape.end())}); }

TEST(Reshape, ReadsOneFreeExtentAndATarget) {
    check_op<ops::Reshape>({.shape = {3, -1}}, {{.shape = {2, 6}}}, {.dtypes = all_types});
    check_op<ops::Reshape>({.shape = {}}, {{.shape = {1, 1}}});
    check_op<ops::Reshape>({.shape = {0, 5}}, {{.shape = {3, 0}}});
    check_op<ops::Reshape>({}, {{.shape = {2, 6}}, {.shape = {2}, .dtype = DType::i32, .values = {-1, 4}}});
    check_op<ops::ReshapeLike>({}, {{.shape = {2, 6}}, {.shape = {3, 4}, .differentiate = false}},
                               {.dtypes = all_types, .gradient = false});
    check_op<ops::Reshape>({.shape = {1000, 300}}, {{.shape = {300, 1000}}});
}

TEST(WaitFor, IsItsFirstOperand) {
    check_op<ops::WaitFor>(
        {},
        {{.shape = {2, 6}}, {.shape = {3}, .differentiate = false}, {.shape = {0}, .differentiate = false}},
        {.dtypes = all_types});
    check_op<ops::WaitFor>({}, {{.shape = {}}});
    check_op<ops::WaitFor>({.stops_gradient = true}, {{.shape = {2, 3}, .differentiate = false}});
    Tensor x = zeros({2, 3});
    EXPECT_EQ(ops::wait_for({x, zeros({7})}).address(), x.address());
}

TEST(Reshape, JoinsAddsAndRemovesAxes) {
    check_op<ops::Flatten>({.start = 1, .end = 2}, {{.shape = {2, 3, 4, 5}}}, {.dtypes = all_types});
    check_op<ops::Flatten>({}, {{.shape = {}}});
    check_op<ops::AddAxis>({.axes = {0, -1}}, {{.shape = {2, 3}}}, {.dtypes = all_types});
    check_op<ops::RemoveAxis>({.axes = {0, -1}}, {{.shape = {1, 3, 1}}}, {.dtypes = all_types});
    EXPECT_EQ(ops::flatten(zeros({2, 3, 4, 5}), {.start = 1, .end = 2}).shape(), (Shape{2, 12, 5}));
    EXPECT_EQ(ops::flatten(zeros({})).shape(), (Shape{1}));
    EXPECT_EQ(ops::add_axis(zeros({2, 3}), {.axes = {0, -1}}).shape(), (Shape{1, 2, 3, 1}));
    EXPECT_EQ(ops::remove_axis(zeros({1, 3, 1}), {.axes = {0, -1}}).shape(), (Shape{3}));
}

TEST(Reshape, NamesMismatchedShapes) {
    expect_user_error(ErrorClass::runtime,
                      "[reshape] cannot reshape (2, 3) to (4, 2): the numbers of elements differ", [] {
                          ops::reshape(zeros({2, 3}), {.shape = {4, 2}});
                      });
    expect_user_error(ErrorClass::runtime,
                      "[reshape] cannot reshape (2, 3) to (-1, 4): the numbers of elements differ", [] {
                          ops::reshape(zeros({2, 3}), {.shape = {-1, 4}});
                      });
    expect_user_error(
        ErrorClass::runtime,
        "[reshape] cannot reshape (6,) to (4611686018427387904, 8): the numbers of elements differ", [] {
            ops::reshape(zeros({6}), {.shape = {int64_t(1) << 62, 8}});
        });
    expect_user_error(ErrorClass::value,
                      "[reshape] target (-1, -1) may hold one -1 and no other negative number", [] {
                          ops::reshape(zeros({6}), {.shape = {-1, -1}});
                      });
    expect_user_error(ErrorClass::runtime,
                      "[reshape_like] cannot give (6,) the shape (2, 2): the numbers of elements differ", [] {
                          ops::reshape_like(zeros({6}), zeros({2, 2}));
                      });
    expect_user_error(ErrorClass::value, "[flatten] start 1 is after end 0 for rank 2", [] {
        ops::flatten(zeros({2, 3}), {.start = 1, .end = 0});
    });
    expect_user_error(ErrorClass::value, "[add_axis] axes (0, -4) list an axis twice", [] {
        ops::add_axis(zeros({2, 3}), {.axes = {0, -4}});
    });
    expect_user_error(ErrorClass::value, "[remove_axis] axis 1 of (2, 3) has size 3, not 1", [] {
        ops::remove_axis(zeros({2, 3}), {.axes = {1}});
    });
    expect_user_error(ErrorClass::value, "[shape] rank 8 is above the largest supported rank 7", [] {
        ops::add_axis(zeros({1, 1, 1, 1, 1, 1, 1}), {.axes = {0}});
    });
}

TEST(Transpose, EveryPattern) {
    check_op<ops::Transpose>({.pattern = {1, 0}}, {{.shape = {33, 18}}}, {.dtypes = all_types});
    check_op<ops::Transpose>({.pattern = {}}, {{.shape = {}}});
    check_op<ops::Transpose>({.pattern = {1, 0, 2}}, {{.shape = {3, 0, 2}}});
    for (IntList pattern :
         {IntList{0, 2, 3, 1}, IntList{0, 3, 1, 2}, IntList{3, 2, 1, 0}, IntList{0, 2, 1, 3}})
        check_op<ops::Transpose>({.pattern = pattern}, {{.shape = {2, 3, 17, 5}}});
    check_op<ops::Transpose>({.pattern = {6, 0, 5, 1, 4, 2, 3}}, {{.shape = {2, 3, 1, 2, 2, 3, 2}}});
    check_op<ops::Transpose>({.pattern = {0, 2, 3, 1}}, {{.shape = {1, 64, 56, 56}}}, {.gradient = false});
    EXPECT_THAT(values_of(ops::transpose(floats({2, 2}, {0, 1, 2, 3}), {.pattern = {1, 0}})),
                ElementsAre(0, 2, 1, 3));
    for (IntList wrong : {IntList{0, 0}, IntList{-1, 0}, IntList{0}, IntList{0, 1, 2}})
        expect_user_error(ErrorClass::runtime,
                          "[transpose] pattern " + to_text(ParamValue(wrong)) +
                              " is not a permutation of the axes of rank 2",
                          [&] {
                              ops::transpose(zeros({2, 3}), {.pattern = wrong});
                          });
}

TEST(Broadcast, RepeatsAxes) {
    check_op<ops::BroadcastTo>({.shape = {4, 3}}, {{.shape = {3}}}, {.dtypes = all_types});
    check_op<ops::BroadcastTo>({.shape = {2, -1, 5, -1}}, {{.shape = {3, 1, 2}}});
    check_op<ops::BroadcastTo>({.shape = {2, 0, 3}}, {{.shape = {1, 3}}});
    check_op<ops::BroadcastTo>({.shape = {2, 3}}, {{.shape = {}}});
    check_op<ops::BroadcastTo>({.shape = {2, 1, 2, 1, 2, 1, 2}}, {{.shape = {1, 1, 1, 2, 1, 2}}});
    check_op<ops::BroadcastTo>({}, {{.shape = {3}}, {.shape = {2}, .dtype = DType::i32, .values = {2, 3}}});
    check_op<ops::BroadcastLike>({}, {{.shape = {3, 1}}, {.shape = {2, 3, 4}, .differentiate = false}},
                                 {.dtypes = all_types});
    expect_user_error(ErrorClass::runtime,
                      "[broadcast_to] cannot broadcast (2, 3) to (4, 3): counted from the end, sizes must "
                      "be equal or 1",
                      [] {
                          ops::broadcast_to(zeros({2, 3}), {.shape = {4, 3}});
                      });
    expect_user_error(
        ErrorClass::value,
        "[broadcast_to] extent -1 at place 0 of (-1, 3): only -1 is allowed, for an axis that x "
        "has",
        [] {
            ops::broadcast_to(zeros({3}), {.shape = {-1, 3}});
        });
}

TEST(ReduceToShape, SumsRepeatedAxes) {
    for (IntList to :
         {IntList{}, IntList{1}, IntList{5}, IntList{1, 1, 1}, IntList{7, 1}, IntList{3, 1, 5},
          IntList{3, 7, 1}, IntList{1, 7, 5}, IntList{3, 1, 1}, IntList{1, 7, 1}, IntList{3, 7, 5}})
        check_op<ops::ReduceToShape>({.shape = to}, {{.shape = {3, 7, 5}}},
                                     {.dtypes = number_types, .reduction = 105});
    check_op<ops::ReduceToShape>({.shape = {1, 300}}, {{.shape = {1111, 300}}},
                                 {.reduction = 1111, .gradient = false});
    check_op<ops::ReduceToShape>({.shape = {3, 1}}, {{.shape = {3, 70001}}},
                                 {.reduction = 70001, .gradient = false});
    check_op<ops::ReduceToShape>({.shape = {1, 17, 1, 1}}, {{.shape = {4, 17, 9, 11}}}, {.reduction = 396});
    check_op<ops::ReduceToShape>({.shape = {1, 3}}, {{.shape = {0, 3}}});
    check_op<ops::ReduceToShape>({}, {{.shape = {4, 3}}, {.shape = {3}, .differentiate = false}},
                                 {.reduction = 4});
    expect_user_error(ErrorClass::runtime, "[reduce_to_shape] shape (2,) does not broadcast to (4, 3)", [] {
        ops::reduce_to_shape(zeros({4, 3}), {.shape = {2}});
    });
    expect_user_error(ErrorClass::type, "[reduce_to_shape] bool has no sum; convert x first",
                      [] { ops::reduce_to_shape(make_tensor(DType::boolean, {1}, {1}), {.shape = {1}}); });
}

TEST(ReduceToShape, OnesSumExactly) {
    Tensor ones = ops::full({.shape = {3, 100000}, .value = 0.1});
    EXPECT_NEAR(values_of(ops::reduce_to_shape(ones, {.shape = {1, 1}}))[0], 30000, 0.01);
}

TEST(Concat, JoinsAlongAnyAxis) {
    check_op<ops::Concat>({.axis = 0}, {{.shape = {2, 3}}, {.shape = {1, 3}}, {.shape = {0, 3}}},
                          {.dtypes = all_types});
    check_op<ops::Concat>({.axis = -1}, {{.shape = {2, 3, 2}}, {.shape = {2, 3, 5}}});
    check_op<ops::Concat>({.axis = 1}, {{.shape = {2, 3, 70}}, {.shape = {2, 1, 70}}});
    check_op<ops::Concat>({.axis = 0}, {{.shape = {4}}});
    // Rows of the result in pieces of all widths, in many tiles, and rows of one input alone.
    for (int64_t width : {1, 2, 3, 5, 9, 16, 17, 33, 40})
        check_op<ops::Concat>({.axis = 1}, {{.shape = {7, width}}, {.shape = {7, 0}}, {.shape = {7, 3}}},
                              {.dtypes = all_types});
    check_op<ops::Concat>({.axis = 2}, {{.shape = {70, 31, 16}}, {.shape = {70, 31, 20}}},
                          {.gradient = false});
    check_op<ops::Concat>({.axis = 1}, {{.shape = {300, 200}}, {.shape = {300, 150}}}, {.gradient = false});
    check_op<ops::Concat>({.axis = 1}, {{.shape = {0, 2}}, {.shape = {0, 3}}});
    check_op<ops::Concat>({.axis = 1}, {{.shape = {5, 0}}, {.shape = {5, 0}}});
    expect_user_error(ErrorClass::value, "[concat] needs at least one tensor",
                      [] { ops::concat(TensorList(Tensors{})); });
    expect_user_error(ErrorClass::runtime, "[concat] shapes (2, 3) and (1, 3) differ outside of axis 1", [] {
        ops::concat({zeros({2, 3}), zeros({1, 3})}, {.axis = 1});
    });
    expect_user_error(ErrorClass::value, "[concat] axis 2 is out of range for rank 2", [] {
        ops::concat({zeros({2, 3})}, {.axis = 2});
    });
}

TEST(Concat, CountsAxesFromTheEnd) {
    for (int axis : {-3, -2}) {
        Shape smaller{4, 5, 3};
        smaller[axis + 3] = 2;
        check_op<ops::Concat>({.axis = axis}, {{.shape = {4, 5, 3}}, {.shape = smaller}},
                              {.dtypes = all_types});
        Tensor x = zeros({4, 5, 3});
        EXPECT_EQ(ops::concat({x, x}, {.axis = axis}).shape()[axis + 3], 2 * x.shape()[axis + 3]);
    }
    expect_user_error(ErrorClass::value, "[concat] axis -3 is out of range for rank 2", [] {
        ops::concat({zeros({2, 3})}, {.axis = -3});
    });
}

Graph joined_columns(std::initializer_list<int64_t> widths) {
    TensorSpecs specs;
    for (int64_t width : widths) specs.push_back({DType::f32, {3, width}, {}});
    return record(specs, [](const Tensors& x) { return Tensors{ops::concat(TensorList(x), {.axis = 1})}; });
}

// 16 KiB, in whole chunks of bytes or not.
TEST(Concat, JoinsRowsOfTheLargestSize) {
    for (auto [first, second] : {std::pair(3072, 1024), std::pair(1, 4095), std::pair(4093, 3)}) {
        check_op<ops::Concat>({.axis = 1}, {{.shape = {3, first}}, {.shape = {3, second}}},
                              {.gradient = false});
        EXPECT_EQ(Program::compile(joined_columns({first, second}), {})->steps()[0].algorithm, "rows");
        EXPECT_NE(Program::compile(joined_columns({first, second + 1}), {})->steps()[0].algorithm, "rows");
    }
}

TEST(Concat, JoinsSingleElements) {
    for (size_t count : {2, 3, 4, 5}) {
        std::vector<InputSpec> inputs(count, {.shape = {1037, 1}});
        check_op<ops::Concat>({.axis = 1}, inputs,
                              {.dtypes = {DType::u8, DType::i16, DType::f32}, .gradient = false});
    }
}

// Masks of operands have 32 bits: what comes behind them, constant or not, has none.
TEST(Concat, JoinsMoreThan32Tensors) {
    constexpr size_t count = 40;
    std::vector<InputSpec> inputs;
    for (size_t i = 0; i < count; ++i) inputs.push_back({.shape = {3, int64_t(i % 4)}});
    check_op<ops::Concat>({.axis = 1}, inputs);
    for (bool are_even_constant : {false, true}) {
        Tensors parts, given;
        std::vector<double> expected;
        TensorSpecs specs;
        for (size_t i = 0; i < count; ++i) {
            expected.push_back(double(i));
            parts.push_back(floats({1}, {double(i)}));
            if ((i % 2 == 0) == are_even_constant) continue;
            given.push_back(parts.back());
            specs.push_back(parts.back().spec());
        }
        Graph graph = record(specs, [&](const Tensors& x) {
            Tensors all = parts;
            for (size_t i = 0; i < x.size(); ++i) all[2 * i + are_even_constant] = x[i];
            return Tensors{ops::concat(TensorList(all), {.axis = 0})};
        });
        EXPECT_THAT(values_of(Executable(graph, {}).run(given)[0]), testing::ElementsAreArray(expected));
    }
}

TEST(Split, CutsAlongAnyAxis) {
    check_op<ops::Split>({.axis = 0, .sizes = {1, 0, 2}}, {{.shape = {3, 4}}}, {.dtypes = all_types});
    check_op<ops::Split>({.axis = -1, .sizes = {30, 40}}, {{.shape = {5, 70}}});
    check_op<ops::Split>({.axis = 1, .sizes = {4}}, {{.shape = {3, 4, 2}}});
    check_op<ops::Split>({.axis = 1, .sizes = {-1, -1, -1}}, {{.shape = {2, 7}}});
    check_op<ops::Split>({.axis = 0, .sizes = {-1, 2, -1}}, {{.shape = {3, 4}}});
    auto parts = ops::split({floats({3}, {1, 2, 3}), zeros({1}), zeros({2})}, {.axis = 0});
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_THAT(values_of(parts[1]), ElementsAre(2, 3));
    expect_user_error(ErrorClass::value, "[split] sizes (1, 1) do not sum to the size 3 of axis 0", [] {
        ops::split(zeros({3}), {.axis = 0, .sizes = {1, 1}});
    });
    expect_user_error(ErrorClass::value, "[split] size -2 is negative", [] {
        ops::split(zeros({3}), {.axis = 0, .sizes = {5, -2}});
    });
    expect_user_error(ErrorClass::value, "[split] sizes (4, -1) do not sum to the size 3 of axis 0", [] {
        ops::split(zeros({3}), {.axis = 0, .sizes = {4, -1}});
    });
    expect_user_error(ErrorClass::runtime, "[split] a tensor of `likes` has rank 2, x has 1", [] {
        ops::split({zeros({3}), zeros({3, 1})}, {.axis = 0});
    });
}

TEST(Split, GradientOfAnUnusedPartIsZero) {
    Tensor x = zeros({3});
    Tensors outputs = ops::split(x, {.axis = 0, .sizes = {1, 2}}), grads{floats({1}, {7}), Tensor()};
    ops::Split::Params params{.axis = 0, .sizes = {1, 2}};
    bool needed[] = {true};
    Tensors dx = ops::Split::info.gradient({ops::Split::info, &params, {&x, 1}, outputs, grads, needed});
    EXPECT_THAT(values_of(dx[0]), ElementsAre(7, 0, 0));
}

TEST(ShapeOf, GivesExtents) {
    check_op<ops::ShapeOf>({}, {{.shape = {2, 0, 3}}}, {.dtypes = all_types});
    EXPECT_THAT(values_of(ops::shape_of(zeros({2, 0, 3}))), ElementsAre(2, 0, 3));
    EXPECT_THAT(values_of(ops::shape_of(zeros({2, 5}), {.axis = 1})), ElementsAre(5));
    EXPECT_EQ(ops::shape_of(zeros({})).shape(), (Shape{0}));
    expect_user_error(ErrorClass::value, "[shape_of] axis 2 is out of range for rank 2; -1 means all", [] {
        ops::shape_of(zeros({2, 5}), {.axis = 2});
    });
}

TEST(Flip, ReversesAxes) {
    check_op<ops::Flip>({.axes = {0}}, {{.shape = {5}}}, {.dtypes = all_types});
    check_op<ops::Flip>({.axes = {-1, 0}}, {{.shape = {3, 4, 33}}});
    check_op<ops::Flip>({.axes = {}}, {{.shape = {3, 4}}});
    check_op<ops::Flip>({.axes = {1}}, {{.shape = {3, 0}}});
    expect_user_error(ErrorClass::value, "[flip] axes (1, -1) list an axis twice", [] {
        ops::flip(zeros({2, 2}), {.axes = {1, -1}});
    });
}

TEST(Roll, MovesElements) {
    EXPECT_THAT(
        values_of(ops::roll(make_tensor(DType::f32, {5}, {1, 2, 3, 4, 5}), {.shifts = {2}, .axes = {0}})),
        ElementsAre(4, 5, 1, 2, 3));
    check_op<ops::Roll>({.shifts = {2}, .axes = {-1}}, {{.shape = {3, 5}}}, {.dtypes = all_types});
    check_op<ops::Roll>({.shifts = {-3, 40, 1}, .axes = {2, 0, -2}}, {{.shape = {3, 4, 33}}});
    check_op<ops::Roll>({.shifts = {3, 2}, .axes = {1, 1}}, {{.shape = {2, 5}}});
    check_op<ops::Roll>({.shifts = {7}, .axes = {0}}, {{.shape = {7, 2}}});
    check_op<ops::Roll>({}, {{.shape = {3, 4}}});
    check_op<ops::Roll>({.shifts = {1, 1}, .axes = {0, 1}}, {{.shape = {3, 0}}});
    expect_user_error(ErrorClass::value, "[roll] 2 shifts for 1 axis", [] {
        ops::roll(zeros({2, 2}), {.shifts = {1, 2}, .axes = {0}});
    });
    expect_user_error(ErrorClass::value, "[roll] axis 2 is out of range for rank 2", [] {
        ops::roll(zeros({2, 2}), {.shifts = {1}, .axes = {2}});
    });
}

TEST(Pad, FillsMargins) {
    check_op<ops::Pad>({.before = {1, 0}, .after = {0, 2}, .value = 1.5}, {{.shape = {3, 4}}},
                       {.dtypes = all_types});
    for (auto mode : {ops::PadMode::constant, ops::PadMode::reflect, ops::PadMode::replicate}) {
        check_op<ops::Pad>({.before = {0, 2, 1}, .after = {1, 1, 3}, .mode = mode}, {{.shape = {3, 4, 5}}});
        check_op<ops::Pad>({.before = {}, .after = {}, .mode = mode}, {{.shape = {}}});
        check_op<ops::PadBackward>({.before = {0, 2, 1}, .after = {1, 1, 3}, .mode = mode},
                                   {{.shape = {4, 6, 9}}}, {.dtypes = float_types, .reduction = 9});
    }
    check_op<ops::Pad>({.before = {1, 1}, .after = {1, 0}, .value = 3}, {{.shape = {0, 2}}});
    Tensor x = floats({3}, {1, 2, 3});
    EXPECT_THAT(values_of(ops::pad(x, {.before = {2}, .after = {1}, .mode = ops::PadMode::reflect})),
                ElementsAre(3, 2, 1, 2, 3, 2));
    EXPECT_THAT(values_of(ops::pad(x, {.before = {2}, .after = {1}, .mode = ops::PadMode::replicate})),
                ElementsAre(1, 1, 1, 2, 3, 3));
    EXPECT_THAT(values_of(ops::pad(x, {.before = {1}, .after = {2}, .value = 9})),
                ElementsAre(9, 1, 2, 3, 9, 9));
}

TEST(Pad, NamesMismatchedShapes) {
    using ops::PadMode;
    expect_user_error(ErrorClass::value, "[pad] needs one margin per axis: rank 2, 1 before, 2 after", [] {
        ops::pad(zeros({2, 2}), {.before = {1}, .after = {1, 1}});
    });
    expect_user_error(ErrorClass::value, "[pad] margin -1 is negative",
                      [] { ops::pad(zeros({2}), {.before = {-1}, .after = {0}}); });
    expect_user_error(ErrorClass::runtime,
                      "[pad] margin 4 of axis 0 is too large to mirror an axis of size 4: at most 3",
                      [] { ops::pad(zeros({4}), {.before = {4}, .after = {0}, .mode = PadMode::reflect}); });
    // A gradient with margins that no pad() has: its sums would be outside the result.
    expect_user_error(
        ErrorClass::runtime,
        "[pad_backward] margin 4 of axis 0 is too large to mirror an axis of size 2: at most 1",
        [] { ops::pad_backward(zeros({6}), {.before = {4}, .after = {0}, .mode = PadMode::reflect}); });
    expect_user_error(ErrorClass::runtime, "[pad_backward] axis 0 is empty: there is no edge to repeat", [] {
        ops::pad_backward(zeros({2}), {.before = {2}, .after = {0}, .mode = PadMode::replicate});
    });
    expect_user_error(ErrorClass::runtime, "[pad] axis 0 is empty: there is no edge to repeat", [] {
        ops::pad(zeros({0}), {.before = {1}, .after = {0}, .mode = PadMode::replicate});
    });
    expect_user_error(ErrorClass::value, "[pad_backward] the margins of axis 0 are larger than its size 2",
                      [] { ops::pad_backward(zeros({2}), {.before = {2}, .after = {1}}); });
}

}  // namespace
}  // namespace mge::test
