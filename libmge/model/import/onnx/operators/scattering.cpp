// SPDX-License-Identifier: Apache-2.0
// Scatter with combination of values, where several values may have the same index. They are sorted by index,
// those of one index are combined in steps of doubled distance, and the last of them has the result.

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/concat.h"
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

// Rows of x and values for them: x (rows, …), place (count), values (count, …).
Tensor combined_rows(const Tensor& x, const Tensor& place, const Tensor& values, Join join) {
    auto count = find_extent(place, 0);
    if (!count) unsupported("a reduction of an open number of values");
    if (!*count) return x;
    Tensors sorted = ops::sort(place, {.axis = 0});
    Tensor at = sorted[0], sums = ops::take({values, as_index(sorted[1])}, {.axes = {0}});
    int trailing = rank_of(values) - 1;
    for (int64_t distance = 1; distance < *count; distance *= 2) {
        Tensor is_same = ops::equal(cut(at, 0, distance, *count), cut(at, 0, 0, *count - distance));
        Tensor later = cut(sums, 0, distance, *count), earlier = cut(sums, 0, 0, *count - distance);
        Tensor both = ops::where(with_trailing_axes(is_same, trailing), join(later, earlier), later);
        sums = ops::concat({cut(sums, 0, 0, distance), both}, {.axis = 0});
    }
    Tensor result = join(ops::take({x, at}, {.axes = {0}}), sums);
    return ops::set_take({x, result, at}, {.axes = {0}});
}

// Indices from 0, with each range checked.
Tensor place_from_start(const Tensor& index, const Tensor& x, int axis) {
    return ops::take({count_up(extent_of(x, axis), DType::i32), index}, {.axes = {0}});
}

Tensor extent_scalar(const Tensor& x, int axis) {
    return as_index(ops::reshape(std::get<Tensor>(extent_of(x, axis)), {.shape = {}}));
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
    Tensor y = combined_rows(flat(x), flat(place), flat(values), join_of(reduction));
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
    Tensor y = combined_rows(rows, ops::reshape(place, {.shape = {-1}}), own, join_of(reduction));
    return ops::reshape_like(y, x);
}

}  // namespace mge::onnx
