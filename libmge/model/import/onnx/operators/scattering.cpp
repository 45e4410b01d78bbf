// SPDX-License-Identifier: Apache-2.0
// Scatter with combination of values, where several values may have the same index. They are sorted by index,
// those of one index are combined in steps of doubled distance, and the last of them has the result.

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/while_loop.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

using Join = Tensor (*)(const Tensor&, const Tensor&);

Join join_of(const std::string& reduction) {
    if (reduction == "mul") return [](const Tensor& a, const Tensor& b) -> Tensor { return ops::mul(a, b); };
    if (reduction == "max") return larger;
    if (reduction == "min") return smaller;
    unsupported("the reduction '", reduction, "'");
}

// Rows and their places, in the order of the places.
struct Ordered {
    Tensor place, rows;
};

// Each row joined with the one `distance` before it, if both have the same place.
Tensor joined(const Ordered& x, const Tensor& distance, Join join) {
    Tensor before = ops::sub(count_up(extent_of(x.place, 0), DType::i32), distance);
    Tensor earlier = ops::maximum(before, number(before, 0));
    Tensor is_same = ops::logical_and(ops::greater_equal(before, number(before, 0)),
                                      ops::equal(ops::take({x.place, earlier}, {.axes = {0}}), x.place));
    Tensor both = join(x.rows, ops::take({x.rows, earlier}, {.axes = {0}}));
    return ops::where(with_trailing_axes(is_same, rank_of(x.rows) - 1), both, x.rows);
}

Tensor extent_scalar(const Tensor& x, int axis) {
    return as_index(ops::reshape(std::get<Tensor>(extent_of(x, axis)), {.shape = {}}));
}

Tensor first_distance() { return as_literal(scalar_tensor(1, DType::i32, host_device)); }

// As many steps as the number of rows needs, which is known only at run time.
Tensor joined_in_loop(const Site& site, const Ordered& x, Join join) {
    Tensors captured, operands{first_distance(), x.rows, x.place};
    Arguments arguments;
    arguments.add_scalar(DType::i32);
    arguments.add_like(x.rows);
    arguments.add_like(x.place);
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::add(in[0], in[0]), joined({in[2], in[1]}, in[0], join)};
    });
    auto condition = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::less(in[0], extent_scalar(in[2], 0))};
    });
    operands.insert(operands.end(), captured.begin(), captured.end());
    Tensors results =
        ops::while_loop(TensorList(operands), {.condition = with_inputs(condition.graph, operands),
                                               .body = with_inputs(body.graph, operands),
                                               .carried = 2});
    assume_either(results[1], body.shapes[1], body.shapes[1]);
    return results[1];
}

// Rows of x and values for them: x (rows, …), place (count), values (count, …).
Tensor combined_rows(const Site& site, const Tensor& x, const Tensor& place, const Tensor& values,
                     Join join) {
    auto count = find_extent(place, 0);
    if (count == 0) return x;
    Tensors sorted = ops::sort(place, {.axis = 0});
    Ordered sums{sorted[0], ops::take({values, as_index(sorted[1])}, {.axes = {0}})};
    if (!count) sums.rows = joined_in_loop(site, sums, join);
    Tensor distance = first_distance();
    for (int64_t step = 1; step < count.value_or(0); step *= 2) {
        sums.rows = joined(sums, distance, join);
        distance = ops::add(distance, distance);
    }
    Tensor result = join(ops::take({x, sums.place}, {.axes = {0}}), sums.rows);
    return ops::set_take({x, result, sums.place}, {.axes = {0}});
}

// Indices from 0, with each range checked.
Tensor place_from_start(const Tensor& index, const Tensor& x, int axis) {
    return ops::take({count_up(extent_of(x, axis), DType::i32), index}, {.axes = {0}});
}

}  // namespace

// The place of each element in x as a vector.
Tensor scattered_elements(const Site& site, int axis, const Tensor& index, const std::string& reduction) {
    const Tensor &x = site.in(0), &values = site.in(2);
    int rank = rank_of(x);
    Tensor place, along = place_from_start(index, x, axis);
    for (int i = 0; i < rank; ++i) {
        Tensor own =
            i == axis ? along : with_trailing_axes(count_up(extent_of(index, i), DType::i32), rank - 1 - i);
        place = place ? Tensor(ops::add(ops::mul(place, extent_scalar(x, i)), own)) : own;
    }
    // With a single axis, the index already has the shape of the values.
    place = ops::add(place, ops::mul(index, number(index, 0)));
    auto flat = [](const Tensor& t) -> Tensor { return ops::reshape(t, {.shape = {-1}}); };
    Tensor y = combined_rows(site, flat(x), flat(place), flat(values), join_of(reduction));
    return ops::reshape_like(y, x);
}

// `indices`: one tensor for each of the first axes of x.
Tensor scattered_rows(const Site& site, const Tensors& indices, const std::string& reduction) {
    const Tensor &x = site.in(0), &values = site.in(2);
    int axes = int(indices.size()), places = rank_of(indices[0]);
    Tensor place;
    for (int i = 0; i < axes; ++i) {
        Tensor own = place_from_start(indices[size_t(i)], x, i);
        place = place ? Tensor(ops::add(ops::mul(place, extent_scalar(x, i)), own)) : own;
    }
    Tensor rows = ops::flatten(x, {.start = 0, .end = axes - 1});
    Tensor own = places ? Tensor(ops::flatten(values, {.start = 0, .end = places - 1}))
                        : Tensor(ops::add_axis(values, {.axes = {0}}));
    Tensor y = combined_rows(site, rows, ops::reshape(place, {.shape = {-1}}), own, join_of(reduction));
    return ops::reshape_like(y, x);
}

}  // namespace mge::onnx
