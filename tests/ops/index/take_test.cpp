// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;

Tensor floats(const Shape& shape, std::vector<double> values) {
    return make_tensor(DType::f32, shape, values);
}
Tensor ints(const Shape& shape, std::vector<double> values) { return make_tensor(DType::i32, shape, values); }

std::vector<int64_t> coordinates(int64_t n, const Shape& shape) {
    std::vector<int64_t> at(size_t(shape.rank()));
    for (int i = shape.rank() - 1; i >= 0; --i) {
        at[size_t(i)] = n % shape[i];
        n /= shape[i];
    }
    return at;
}
int64_t position(const std::vector<int64_t>& at, const Shape& shape) {
    int64_t n = 0;
    for (int i = 0; i < shape.rank(); ++i) n = n * shape[i] + at[size_t(i)];
    return n;
}
// Element `at` (coordinates of the broadcast shape, from the end) of a smaller tensor.
double element(const Tensor& t, std::vector<int64_t> at) {
    at.erase(at.begin(), at.end() - t.shape().rank());
    for (int i = 0; i < t.shape().rank(); ++i) at[size_t(i)] = t.shape()[i] == 1 ? 0 : at[size_t(i)];
    return values_of(t)[size_t(position(at, t.shape()))];
}

// Advanced indexing by its definition: for each element of y = x[indices on axes], its place in x.
std::vector<int64_t> places(const Shape& x, std::span<const Tensor> indices, const IntList& axes,
                            Shape& y_shape) {
    ops::Take::Params params{axes};
    TensorSpecs specs;
    for (auto& index : indices) specs.push_back(index.spec());
    auto take = ops::take_shape("test", params, x, specs);
    y_shape = take.result;
    std::vector<int64_t> result;
    for (int64_t n = 0; n < y_shape.numel(); ++n) {
        auto at = coordinates(n, y_shape);
        auto first = at.begin() + take.indices_at;
        std::vector<int64_t> index_at(first, first + take.indices.rank()), from;
        at.erase(first, first + take.indices.rank());
        size_t rest = 0;
        for (int i = 0; i < x.rank(); ++i) {
            auto k = std::find(take.axes.begin(), take.axes.end(), i);
            if (k == take.axes.end()) {
                from.push_back(at[rest++]);
                continue;
            }
            auto index = int64_t(element(indices[size_t(k - take.axes.begin())], index_at));
            from.push_back(index < 0 ? index + x[i] : index);
        }
        result.push_back(position(from, x));
    }
    return result;
}

CheckOptions with_take_reference(IntList axes, DTypes dtypes = {DType::f32}) {
    return {.dtypes = dtypes, .reference = [axes](std::span<const Tensor> in) {
                Shape shape;
                std::vector<double> x = values_of(in[0]), y;
                for (int64_t place : places(in[0].shape(), in.subspan(1), axes, shape))
                    y.push_back(x[size_t(place)]);
                return Tensors{make_tensor(in[0].dtype(), shape, y)};
            }};
}
CheckOptions with_change_reference(IntList axes, bool add, DTypes dtypes = {DType::f32}) {
    return {.dtypes = dtypes, .reference = [axes, add](std::span<const Tensor> in) {
                Shape shape;
                std::vector<double> y = values_of(in[0]);
                auto to = places(in[0].shape(), in.subspan(2), axes, shape);
                for (size_t n = 0; n < to.size(); ++n) {
                    auto at = coordinates(int64_t(n), shape);
                    for (int extra = in[1].shape().rank() - shape.rank(); extra > 0; --extra)
                        at.insert(at.begin(), 0);
                    double value = element(in[1], at);
                    y[size_t(to[n])] = add ? y[size_t(to[n])] + value : value;
                }
                return Tensors{make_tensor(in[0].dtype(), in[0].shape(), y)};
            }};
}

InputSpec index(Shape shape, std::vector<double> values) {
    return {.shape = shape, .dtype = DType::i32, .values = values};
}

struct Case {
    Shape x;
    IntList axes;
    std::vector<InputSpec> indices;
};
const std::vector<Case> cases{
    {{5}, {0}, {index({3}, {4, 0, -2})}},
    {{5, 3}, {0}, {index({2, 2}, {1, 2, -5, 3})}},
    {{2, 5, 3}, {1}, {index({3}, {4, 0, -2})}},
    {{2, 5, 3}, {2}, {index({}, {1})}},
    {{2, 3, 4}, {0, 1}, {index({2, 1}, {1, 0}), index({3}, {2, 0, 1})}},
    {{2, 3, 4}, {0, 2}, {index({2}, {1, 0}), index({2}, {3, -2})}},  // no neighbours: the indices come first
    {{2, 3, 2, 3}, {1, 3}, {index({2, 1}, {2, 0}), index({1, 2}, {0, 1})}},
    {{2, 3, 4}, {0, 1, 2}, {index({4}, {0, 1, 0, 1}), index({}, {2}), index({4}, {3, 2, 1, 0})}},
    {{2, 3}, {1}, {index({0}, {0})}},
    {{0, 3}, {1}, {index({2}, {0, 2})}},
    {{1, 2, 1, 2, 3, 1, 2}, {-3}, {index({2}, {2, 0})}},
};

TEST(Take, FollowsItsDefinition) {
    for (auto& c : cases) {
        std::vector<InputSpec> inputs{{.shape = c.x}};
        inputs.insert(inputs.end(), c.indices.begin(), c.indices.end());
        check_op<ops::Take>({.axes = c.axes}, inputs, with_take_reference(c.axes));
    }
    check_op<ops::Take>({.axes = {0}}, {{.shape = {5, 2}}, cases[0].indices[0]},
                        with_take_reference({0}, all_types));
    check_op<ops::Take>({.axes = {0}},
                        {{.shape = {50, 700}}, {.shape = {40}, .low = 0, .high = 49, .dtype = DType::i32}},
                        with_take_reference({0}));
}

TEST(Take, ReplacesAndAdds) {
    for (auto& c : cases)
        for (bool whole : {true, false}) {
            TensorSpecs specs;
            for (auto& i : c.indices) specs.push_back({DType::i32, i.shape, {}});
            Shape result = ops::take_shape("test", {c.axes}, c.x, specs).result;
            std::vector<InputSpec> inputs{{.shape = c.x}, {.shape = whole ? result : Shape{1}}};
            inputs.insert(inputs.end(), c.indices.begin(), c.indices.end());
            check_op<ops::SetTake>({.axes = c.axes}, inputs, with_change_reference(c.axes, false));
            check_op<ops::AddTake>({.axes = c.axes}, inputs, with_change_reference(c.axes, true));
        }
    std::vector<InputSpec> inputs{{.shape = {4, 2}}, {.shape = {1, 3, 1}}, index({3}, {2, 0, -1})};
    check_op<ops::SetTake>({.axes = {0}}, inputs, with_change_reference({0}, false, all_types));
    check_op<ops::AddTake>({.axes = {0}}, inputs, with_change_reference({0}, true, int_types));
}

TEST(Take, SeveralValuesForOnePlace) {
    Tensor x = floats({3}, {0, 0, 0}), twice = ints({3}, {1, 1, -2}), value = floats({3}, {1, 2, 4});
    EXPECT_THAT(values_of(ops::set_take({x, value, twice}, {.axes = {0}})), ElementsAre(0, 4, 0));
    EXPECT_THAT(values_of(ops::add_take({x, value, twice}, {.axes = {0}})), ElementsAre(0, 7, 0));
}

TEST(Take, NamesMismatchedShapes) {
    Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
    expect_user_error(ErrorClass::index, "[take] index 3 is out of range for axis 1 with size 3", [&] {
        ops::take(x, ints({2}, {0, 3}), {.axes = {1}});
    });
    expect_user_error(ErrorClass::index, "[take] index -3 is out of range for axis 0 with size 2",
                      [&] { ops::take(x, ints({}, {-3}), {.axes = {0}}); });
    expect_user_error(ErrorClass::index, "[set_take] index 2 is out of range for axis 0 with size 2", [&] {
        ops::set_take(x, x, ints({2}, {0, 2}), {.axes = {0}});
    });
    expect_user_error(ErrorClass::index, "[add_take] index 2 is out of range for axis 0 with size 2", [&] {
        ops::add_take(x, x, ints({2}, {0, 2}), {.axes = {0}});
    });
    expect_user_error(ErrorClass::index, "[take] got 1 index tensor for 2 axes", [&] {
        ops::take(x, ints({1}, {0}), {.axes = {0, 1}});
    });
    expect_user_error(ErrorClass::type, "[take] indices must be int32, got float32",
                      [&] { ops::take(x, x, {.axes = {0}}); });
    expect_user_error(ErrorClass::value, "[take] axes (1, 0) must be in ascending order", [&] {
        ops::take({x, ints({1}, {0}), ints({1}, {0})}, {.axes = {1, 0}});
    });
    expect_user_error(ErrorClass::runtime,
                      "[take] shapes (2,) and (3,) do not broadcast: sizes must be equal or 1", [&] {
                          ops::take({x, ints({2}, {0, 0}), ints({3}, {0, 0, 0})}, {.axes = {0, 1}});
                      });
    expect_user_error(ErrorClass::value,
                      "[set_take] value of shape (2,) does not broadcast to the indexed shape (1, 3)", [&] {
                          ops::set_take(x, floats({2}, {1, 2}), ints({1}, {0}), {.axes = {0}});
                      });
}

// gather and scatter for rank 2 by their definition.
int64_t place_of(const std::vector<double>& index, const Shape& shape, int64_t n, const Shape& x, int axis) {
    auto at = coordinates(n, shape);
    auto i = int64_t(index[size_t(n)]);
    at[size_t(axis)] = i < 0 ? i + x[axis] : i;
    return position(at, x);
}
CheckOptions with_gather_reference(int axis, DTypes dtypes = {DType::f32}) {
    return {.dtypes = dtypes, .reference = [axis](std::span<const Tensor> in) {
                std::vector<double> x = values_of(in[0]), index = values_of(in[1]), y;
                for (int64_t n = 0; n < in[1].shape().numel(); ++n)
                    y.push_back(x[size_t(place_of(index, in[1].shape(), n, in[0].shape(), axis))]);
                return Tensors{make_tensor(in[0].dtype(), in[1].shape(), y)};
            }};
}
CheckOptions with_scatter_reference(int axis, bool add, DTypes dtypes = {DType::f32}) {
    return {.dtypes = dtypes, .reference = [axis, add](std::span<const Tensor> in) {
                std::vector<double> y = values_of(in[0]), index = values_of(in[1]), source = values_of(in[2]);
                for (int64_t n = 0; n < in[1].shape().numel(); ++n) {
                    auto& to = y[size_t(place_of(index, in[1].shape(), n, in[0].shape(), axis))];
                    to = add ? to + source[size_t(n)] : source[size_t(n)];
                }
                return Tensors{make_tensor(in[0].dtype(), in[0].shape(), y)};
            }};
}

TEST(Gather, FollowsItsDefinition) {
    check_op<ops::Gather>({.axis = 0}, {{.shape = {3, 4}}, index({2, 3}, {0, 1, 2, -2, 0, 0})},
                          with_gather_reference(0, all_types));
    check_op<ops::Gather>({.axis = -1}, {{.shape = {3, 4}}, index({3, 6}, {3, 2, 1, 0, -1})},
                          with_gather_reference(1));
    check_op<ops::Gather>({.axis = 1}, {{.shape = {2, 3, 4}}, index({2, 5, 3}, {2, 1, 0, -1})},
                          with_gather_reference(1));
    check_op<ops::Gather>({.axis = 0}, {{.shape = {3}}, index({0}, {0})}, with_gather_reference(0));
}

TEST(Scatter, FollowsItsDefinition) {
    InputSpec rows = index({2, 3}, {0, 1, 2, -2, 0, 0});
    check_op<ops::Scatter>({.axis = 0}, {{.shape = {3, 4}}, rows, {.shape = {2, 3}}},
                           with_scatter_reference(0, false, all_types));
    check_op<ops::ScatterAdd>({.axis = 0}, {{.shape = {3, 4}}, rows, {.shape = {2, 3}}},
                              with_scatter_reference(0, true, {DType::f32, DType::i32, DType::u8}));
    check_op<ops::ScatterAdd>({.axis = 1},
                              {{.shape = {2, 3, 4}}, index({2, 5, 3}, {2, 1}), {.shape = {2, 5, 3}}},
                              with_scatter_reference(1, true));
    Tensor sums = ops::scatter_add(floats({2}, {0, 0}), ints({3}, {1, 1, 1}), floats({3}, {1, 2, 4}));
    EXPECT_THAT(values_of(sums), ElementsAre(0, 7));
}

TEST(Gather, NamesMismatchedShapes) {
    Tensor x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
    expect_user_error(ErrorClass::index, "[gather] index 2 is out of range for axis 0 with size 2", [&] {
        ops::gather(x, ints({1, 1}, {2}));
    });
    expect_user_error(ErrorClass::index, "[scatter] index -4 is out of range for axis 1 with size 3", [&] {
        ops::scatter(x, ints({1, 1}, {-4}), floats({1, 1}, {1}), {.axis = 1});
    });
    expect_user_error(ErrorClass::index, "[scatter_add] index 3 is out of range for axis 1 with size 3", [&] {
        ops::scatter_add(x, ints({1, 1}, {3}), floats({1, 1}, {1}), {.axis = 1});
    });
    expect_user_error(
        ErrorClass::value,
        "[gather] index of shape (1, 4) does not fit (2, 3): it needs the same rank and, outside "
        "of axis 0, no larger sizes",
        [&] {
            ops::gather(x, ints({1, 4}, {0, 0, 0, 0}));
        });
    expect_user_error(ErrorClass::type, "[gather] the index must be int32, got float32",
                      [&] { ops::gather(x, x); });
    expect_user_error(ErrorClass::value, "[scatter] index (1, 1) and source (1, 2) differ in shape", [&] {
        ops::scatter(x, ints({1, 1}, {0}), floats({1, 2}, {1, 2}));
    });
}

}  // namespace
}  // namespace mge::test
