// SPDX-License-Identifier: Apache-2.0
// Operators that pick elements by masks, classes and order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tensor floats(const Shape& shape, std::vector<double> values) {
    return make_tensor(DType::f32, shape, values);
}
Tensor ints(const Shape& shape, std::vector<double> values) { return make_tensor(DType::i32, shape, values); }
InputSpec index(Shape shape, std::vector<double> values) {
    return {.shape = shape, .dtype = DType::i32, .values = values};
}

TEST(CondTake, SelectsMaskedElements) {
    InputSpec mask{.shape = {2, 3}, .dtype = DType::boolean, .values = {1, 0, 0, 1, 1, 0}};
    check_op<ops::CondTake>({}, {{.shape = {2, 3}}, mask}, {.dtypes = all_types});
    check_op<ops::CondTake>({}, {{.shape = {}}, {.shape = {}, .dtype = DType::boolean, .values = {1}}});
    check_op<ops::CondTake>({}, {{.shape = {0}}, {.shape = {0}, .dtype = DType::boolean}});
    auto taken = ops::cond_take(floats({4}, {5, 6, 7, 8}), make_tensor(DType::boolean, {4}, {0, 1, 1, 0}));
    EXPECT_THAT(values_of(taken[0]), ElementsAre(6, 7));
    EXPECT_THAT(values_of(taken[1]), ElementsAre(1, 2));
    auto none = ops::cond_take(floats({2}, {5, 6}), make_tensor(DType::boolean, {2}, {0, 0}));
    EXPECT_EQ(none[0].shape(), (Shape{0}));
    expect_user_error(ErrorClass::value, "[cond_take] mask must be bool, got int32",
                      [] { ops::cond_take(floats({1}, {1}), ints({1}, {1})); });
    expect_user_error(ErrorClass::runtime, "[cond_take] x has shape (1,), the mask (2,): they must be equal",
                      [] {
                          ops::cond_take(floats({1}, {1}), make_tensor(DType::boolean, {2}, {0, 0}));
                      });
}

// Sizes whose positions exceed int32, known from the shapes alone.
TEST(Places, TooManyElementsAreRefused) {
    constexpr int64_t most = int64_t(1) << 31;
    auto refuses = [](const OpInfo& op, const void* params, std::vector<TensorSpec> inputs) {
        std::string message = error_of<UserError>([&] { op.infer(params, inputs); });
        EXPECT_THAT(message, testing::HasSubstr("cannot index 2147483649 elements")) << op.name;
        EXPECT_THAT(message, testing::StartsWith(text("[", op.name, "]")));
    };
    TensorSpec row{DType::u8, {most + 1}, {}}, rows{DType::u8, {2, most}, {}};
    ops::Sort::Params sort;
    ops::Topk::Params topk{.k = 1};
    ops::ArgParams arg{.axis = 0};
    ops::CondTake::Params take;
    refuses(ops::Sort::info, &sort, {row});
    refuses(ops::Topk::info, &topk, {row});
    refuses(ops::Argmax::info, &arg, {row});
    refuses(ops::CondTake::info, &take, {row, {DType::boolean, {most + 1}, {}}});
    ops::Multinomial::Params draw{.num_samples = 1};
    refuses(ops::Multinomial::info, &draw, {{DType::i32, {2}, {}}, {DType::f16, {most + 1}, {}}});
    ops::Nms::Params nms;
    refuses(ops::Nms::info, &nms, {{DType::f32, {most + 1, 4}, {}}, {DType::f32, {most + 1}, {}}});
    // Rows are counted apart.
    EXPECT_EQ(ops::Sort::info.infer(&sort, std::vector{rows})[1].shape, rows.shape);
    ops::ShapeOf::Params shape;
    EXPECT_THAT(error_of<UserError>([&] { ops::ShapeOf::info.infer(&shape, std::vector{rows}); }),
                testing::HasSubstr("extent 2147483648 of axis 1 is above 2147483647"));
}

TEST(OneHot, MarksTheClass) {
    EXPECT_THAT(values_of(ops::one_hot(ints({3}, {2, 0, 1}), {.num_classes = 3})),
                ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 0));
    check_op<ops::OneHot>({.num_classes = 5}, {index({2, 3}, {4, 0, 2})});
    check_op<ops::OneHot>({.num_classes = 5}, {index({0}, {0})});
    expect_user_error(ErrorClass::index, "[one_hot] index 3 is out of range for axis 1 with size 3",
                      [] { ops::one_hot(ints({1}, {3}), {.num_classes = 3}); });
    expect_user_error(ErrorClass::index, "[one_hot] index -1 is out of range for axis 1 with size 3",
                      [] { ops::one_hot(ints({1}, {-1}), {.num_classes = 3}); });
    expect_user_error(ErrorClass::value, "[one_hot] num_classes is 0, it must be above 0",
                      [] { ops::one_hot(ints({1}, {0})); });
    expect_user_error(ErrorClass::type, "[one_hot] the index must be int32, got float32",
                      [] { ops::one_hot(floats({1}, {0}), {.num_classes = 2}); });
}

TEST(IndexingOneHot, ReadsAndWritesTheClass) {
    Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5}), picked = ints({2}, {2, 0});
    EXPECT_THAT(values_of(ops::indexing_one_hot(x, picked)), ElementsAre(2, 3));
    EXPECT_EQ(ops::indexing_one_hot(x, picked).shape(), (Shape{2, 1}));
    EXPECT_THAT(values_of(ops::indexing_set_one_hot(x, picked, floats({2, 1}, {8, 9}))),
                ElementsAre(0, 1, 8, 9, 4, 5));
    InputSpec classes = index({2, 5}, {2, 0, 1});
    check_op<ops::IndexingOneHot>({.axis = 1}, {{.shape = {2, 3, 5}}, classes}, {.dtypes = all_types});
    check_op<ops::IndexingSetOneHot>({.axis = -2}, {{.shape = {2, 3, 5}}, classes, {.shape = {2, 1, 5}}},
                                     {.dtypes = all_types});
    expect_user_error(ErrorClass::index, "[indexing_one_hot] index 3 is out of range for axis 1 with size 3",
                      [&] {
                          ops::indexing_one_hot(x, ints({2}, {0, 3}));
                      });
    expect_user_error(
        ErrorClass::runtime,
        "[indexing_one_hot] index has shape (3,), expected (2,): that of x, (2, 3), without axis 1", [&] {
            ops::indexing_one_hot(x, ints({3}, {0, 0, 0}));
        });
    expect_user_error(ErrorClass::value, "[indexing_set_one_hot] value has shape (2,), expected (2, 1)", [&] {
        ops::indexing_set_one_hot(x, picked, floats({2}, {8, 9}));
    });
    expect_user_error(ErrorClass::type, "[indexing_one_hot] the index must be int32, got float32", [&] {
        ops::indexing_one_hot(x, floats({2}, {0, 0}));
    });
}

TEST(Embedding, GathersRowsAndSumsGradients) {
    check_op<ops::Embedding>({}, {{.shape = {5, 3}}, index({2, 3}, {4, 0, 4, -1, 2, 2})},
                             {.dtypes = all_types});
    check_op<ops::Embedding>({}, {{.shape = {5, 3}}, index({}, {1})});
    check_op<ops::Embedding>({}, {{.shape = {5, 3}}, index({0}, {1})});
    check_op<ops::EmbeddingBackward>({.num_embeddings = 5}, {index({3}, {4, 0, 4}), {.shape = {3, 40}}},
                                     {.dtypes = number_types});
    Tensor weight = floats({3, 2}, {0, 1, 2, 3, 4, 5});
    EXPECT_THAT(values_of(ops::embedding(weight, ints({2}, {2, -3}))), ElementsAre(4, 5, 0, 1));
    EXPECT_THAT(values_of(ops::embedding_backward(ints({2}, {1, 1}), floats({2, 2}, {1, 2, 4, 8}),
                                                  {.num_embeddings = 3})),
                ElementsAre(0, 0, 5, 10, 0, 0));
    expect_user_error(ErrorClass::index, "[embedding] index 3 is out of range for axis 0 with size 3",
                      [&] { ops::embedding(weight, ints({1}, {3})); });
    expect_user_error(ErrorClass::value, "[embedding] the weight needs rank 2 (rows, width), got (3,)", [] {
        ops::embedding(floats({3}, {1, 2, 3}), ints({1}, {0}));
    });
    expect_user_error(ErrorClass::type, "[embedding] the index must be int32, got float32",
                      [&] { ops::embedding(weight, weight); });
    expect_user_error(
        ErrorClass::value,
        "[embedding_backward] dy has shape (2,), expected that of the index, (2,), then the width", [] {
            ops::embedding_backward(ints({2}, {0, 1}), floats({2}, {1, 2}), {.num_embeddings = 3});
        });
}

// Places in order, by the definition: by value, then place; descending is the reverse.
std::vector<size_t> ordered(const std::vector<double>& row, bool descending) {
    std::vector<size_t> places(row.size());
    std::iota(places.begin(), places.end(), size_t(0));
    std::sort(places.begin(), places.end(), [&](size_t a, size_t b) {
        return descending ? std::pair(row[a], a) > std::pair(row[b], b)
                          : std::pair(row[a], a) < std::pair(row[b], b);
    });
    return places;
}
CheckOptions with_row_reference(int64_t k, bool descending, DTypes dtypes) {
    return {.dtypes = dtypes, .reference = [=](std::span<const Tensor> in) {
                Shape shape = in[0].shape();
                int64_t length = shape[shape.rank() - 1], taken = std::min(k, length);
                std::vector<double> x = values_of(in[0]), values, indices;
                for (size_t first = 0; first < x.size(); first += size_t(length)) {
                    std::vector<double> row(x.begin() + int64_t(first), x.begin() + int64_t(first) + length);
                    auto places = ordered(row, descending);
                    for (int64_t i = 0; i < taken; ++i) {
                        values.push_back(row[places[size_t(i)]]);
                        indices.push_back(double(places[size_t(i)]));
                    }
                }
                shape[shape.rank() - 1] = taken;
                return Tensors{make_tensor(in[0].dtype(), shape, values),
                               make_tensor(DType::i32, shape, indices)};
            }};
}

TEST(Sort, OrdersRows) {
    // Distinct by more than the steps of the finite differences; whole, so that every dtype holds them.
    InputSpec x{.shape = {3, 7}, .values = {5, 1, 4, 100, 3, 0, 77, 8, 21, 50, 11, 13, 20, 9, 6, 2, 30, 60}};
    InputSpec ties{.shape = {2, 8}, .values = {1, 0, 1, 1, 0, 3, 0, 1}};
    for (bool descending : {false, true}) {
        check_op<ops::Sort>({.descending = descending}, {x}, with_row_reference(7, descending, number_types));
        auto options = with_row_reference(8, descending, all_types);
        options.gradient = false;
        check_op<ops::Sort>({.descending = descending}, {ties}, options);
    }
    check_op<ops::Sort>({}, {{.shape = {0, 3}}}, with_row_reference(3, false, {DType::f32}));
    check_op<ops::Sort>({}, {{.shape = {20, 500}}}, {.gradient = false});
    auto sorted = ops::sort(floats({3, 2}, {3, 0, 1, 5, 2, 4}), {.axis = 0});
    EXPECT_THAT(values_of(sorted[0]), ElementsAre(1, 0, 2, 4, 3, 5));
    EXPECT_THAT(values_of(sorted[1]), ElementsAre(1, 0, 2, 2, 0, 1));
    expect_user_error(ErrorClass::value, "[sort] axis 1 is out of range for rank 1",
                      [] { ops::sort(floats({1}, {1}), {.axis = 1}); });
}

TEST(Sort, OrdersSpecialValues) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                     inf = std::numeric_limits<double>::infinity();
    Tensor x = floats({6}, {3, nan, -inf, 0, inf, -0.0});
    EXPECT_THAT(values_of(ops::sort(x)[1]), ElementsAre(2, 3, 5, 0, 4, 1));
    EXPECT_THAT(values_of(ops::sort(x, {.descending = true})[1]), ElementsAre(4, 0, 5, 3, 2, 1));
    Tensor wide = make_tensor(DType::i64, {3}, {5e12, -5e12, 0});
    EXPECT_THAT(values_of(ops::sort(wide)[1]), ElementsAre(1, 2, 0));
}

TEST(Topk, ReturnsTheFirst) {
    InputSpec x{.shape = {3, 7}, .values = {5, 1, 4, 100, 3, 0, 77, 8, 21, 50, 11, 13, 20, 9, 6, 2, 30, 60}};
    for (int64_t k : {1, 3, 7, 9})
        for (bool descending : {false, true})
            check_op<ops::Topk>({.k = k, .descending = descending}, {x},
                                with_row_reference(k, descending, number_types));
    check_op<ops::Topk>({.k = 3, .kth_only = true}, {x});
    check_op<ops::Topk>({.k = 2, .kth_only = true}, {{.shape = {5}, .values = {5, 1, 4, 100, 3}}});
    Tensor ties = floats({6}, {1, 3, 2, 3, 1, 3});
    auto kth = ops::topk(ties, {.k = 2, .kth_only = true});
    EXPECT_EQ(kth[0].shape(), Shape{});
    EXPECT_THAT(values_of(kth[0]), ElementsAre(3));
    EXPECT_THAT(values_of(kth[1]), ElementsAre(1));  // the first place that holds the value
    auto any = ops::topk(ties, {.k = 4, .no_sort = true});
    EXPECT_THAT(values_of(any[0]), testing::UnorderedElementsAre(3, 3, 3, 2));
    EXPECT_THAT(values_of(any[1]), testing::UnorderedElementsAre(1, 3, 5, 2));
    expect_user_error(ErrorClass::runtime, "[topk] k is 0, it must be above 0",
                      [&] { ops::topk(ties, {.k = 0}); });
    expect_user_error(ErrorClass::runtime, "[topk] x needs at least one axis, got a scalar",
                      [] { ops::topk(floats({}, {1})); });
    expect_user_error(ErrorClass::runtime, "[topk] x of shape (0,) has empty rows",
                      [] { ops::topk(floats({0}, {})); });
}

}  // namespace
}  // namespace mge::test
