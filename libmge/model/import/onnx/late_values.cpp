// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/late_values.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/index/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

Tensor as_i64(const Extent& extent) {
    auto* known = std::get_if<int64_t>(&extent);
    return known ? vector_of({*known}) : as_dtype(std::get<Tensor>(extent), DType::i64);
}
Tensor first_numbers(int count) { return count_up(int64_t(count), DType::i64); }

// Which of so many axes are named, (rank).
Tensor is_named(const Tensor& axes, int rank) {
    Tensor named = ops::reshape(late_axes(axes, rank), {.shape = {-1, 1}});
    Tensor hits = as_dtype(ops::equal(named, first_numbers(rank)), DType::i64);
    return ops::greater(ops::sum(hits, {.axes = {0}}), whole(0));
}

Tensor each_of(const Tensor& vector, int64_t i) { return cut(vector, 0, i, i + 1); }

}  // namespace

Tensor late_axes(const Tensor& axes, int rank) {
    Tensor wide = as_dtype(axes, DType::i64);
    return ops::where(ops::less(wide, whole(0)), ops::add(wide, whole(rank)), wide);
}

Tensor spread_over_axes(const Tensor& numbers, const Tensor& axes, const Tensor& otherwise) {
    return ops::set_take({otherwise, as_dtype(numbers, DType::i64), as_index(axes)}, {.axes = {0}});
}

int length_of(const Tensor& vector, std::string_view what) {
    auto length = rank_of(vector) == 1 ? fixed_extent(vector, 0) : std::nullopt;
    if (!length) unsupported(what, " whose length only a run can tell");
    if (*length > 2 * max_rank) invalid(what, " of ", *length, " numbers");
    return int(*length);
}

std::optional<Extents> known_extents(const Tensor& shape) {
    auto* followed = FollowScope::current();
    auto length = find_rank(shape) == 1 ? fixed_extent(shape, 0) : std::nullopt;
    if (!followed || !length || *length > max_rank) return std::nullopt;
    Extents extents = followed->find_other_numbers(shape);
    extents.resize(size_t(*length));
    for (auto& extent : extents)
        if (extent && std::ranges::min(*extent) < 0) extent.reset();
    return extents;
}

Extents extents_of_numbers(const IntList& numbers) {
    Extents extents;
    for (int64_t number : numbers) extents.emplace_back().emplace().fill(number);
    return extents;
}

Tensor with_shape_of(const Tensor& made, const Tensor& shape) {
    return with_extents(made, known_extents(shape));
}

Tensor with_extents(const Tensor& made, const std::optional<Extents>& extents) {
    auto* followed = FollowScope::current();
    if (!followed || !extents || made.shape().is_known() || extents->size() > size_t(max_rank)) return made;
    OtherShapes shapes;
    for (size_t run = 0; run < other_runs; ++run)
        for (auto& extent : *extents) shapes[run].push_back(extent.value_or(assumed_lengths)[run]);
    followed->assume(made, shapes);
    return made;
}

Tensor as_column(const Tensor& numbers, int trailing) {
    IntList shape(size_t(trailing) + 1, 1);
    shape[0] = -1;
    return ops::reshape(numbers, {.shape = shape});
}

Tensor stretch_of(const Tensor& x, const Stretch& stretch, Outside outside, const Tensor& value) {
    Tensor extent = as_i64(stretch.have), last = ops::sub(extent, whole(1));
    Tensor place = ops::add(count_up(stretch.count, DType::i64), as_i64(stretch.first));
    Tensor at = place;
    if (outside == Outside::wrapped) at = ops::mod(place, extent);
    if (outside == Outside::mirrored) {
        Tensor period = ops::maximum(ops::mul(last, whole(2)), whole(1));
        at = ops::mod(place, period);
        at = ops::where(ops::less(at, extent), at, ops::sub(period, at));
    }
    auto taken = [&](const Tensor& from, const Tensor& places) -> Tensor {
        return ops::take({from, as_index(places)}, {.axes = {stretch.axis}});
    };
    if (outside != Outside::value) return taken(x, ops::minimum(ops::maximum(at, whole(0)), last));
    // An element more, for all that lie outside: there may be no other.
    IntList none(size_t(stretch.axis) + 1 + size_t(stretch.trailing), 0), one = none;
    one[size_t(stretch.axis)] = 1;
    Tensor longer = ops::pad(x, {.before = none, .after = one});
    Tensor is_inside = ops::logical_and(ops::greater_equal(place, whole(0)), ops::less_equal(place, last));
    Tensor found = taken(longer, ops::where(is_inside, place, extent));
    return ops::where(as_column(is_inside, stretch.trailing), found, value);
}

// Each axis becomes two, (extent, 1) or (1, extent): always the second ones are reduced.
Tensor late_reduced(const Tensor& x, const Tensor& axes, bool keepdims, const ReduceFixed& reduce) {
    int rank = rank_of(x);
    if (2 * rank > max_rank) unsupported("axes that only a run can tell, of an input of rank ", rank);
    length_of(axes, "a list of axes");
    Tensor is_gone = is_named(axes, rank), extents = extents_of(x, 0, rank), one = whole(1);
    Tensor kept = as_column(ops::where(is_gone, one, extents), 1);
    Tensor gone = as_column(ops::where(is_gone, extents, one), 1);
    Tensor target = ops::reshape(ops::concat({kept, gone}, {.axis = 1}), {.shape = {-1}});
    IntList fixed;
    for (int i = 0; i < rank; ++i) fixed.push_back(2 * i + 1);
    Tensor y = reduce(ops::reshape(x, target), fixed);
    if (keepdims) return y;
    return ops::reshape(y, ops::cond_take(extents, ops::logical_not(is_gone))[0]);
}

Tensor late_unsqueezed(const Tensor& x, const Tensor& axes) {
    int rank = rank_of(x), more = length_of(axes, "a list of axes");
    Tensor is_new = is_named(axes, rank + more);
    Tensor is_old = as_dtype(ops::logical_not(is_new), DType::i64);
    // The place of an old axis among the old ones.
    Tensor place = ops::maximum(ops::sub(ops::cumsum(is_old, {.axis = 0}), whole(1)), whole(0));
    Tensor extents = rank ? extents_of(x, 0, rank) : vector_of({1});
    Tensor have = ops::take({extents, as_index(place)}, {.axes = {0}});
    return ops::reshape(x, ops::where(is_new, whole(1), have));
}

Tensor late_squeezed(const Tensor& x, const Tensor& axes) {
    int rank = rank_of(x);
    Tensor is_kept = ops::logical_not(is_named(axes, rank));
    return ops::reshape(x, ops::cond_take(extents_of(x, 0, rank), is_kept)[0]);
}

Tensors late_split(const Tensor& x, int axis, const Tensor& sizes, size_t parts) {
    if (length_of(sizes, "a list of sizes") != int(parts))
        invalid(counted(sizes.shape()[0], "part"), " in ", counted(parts, "output"));
    Tensor ends = ops::cumsum(as_dtype(sizes, DType::i64), {.axis = 0});
    Tensor begins = ops::sub(ends, as_dtype(sizes, DType::i64));
    Tensors results;
    for (size_t i = 0; i < parts; ++i)
        results.push_back(ops::slice({x, each_of(begins, int64_t(i)), each_of(ends, int64_t(i))},
                                     {.items = {axis, ops::bound_from_input, ops::bound_from_input, 1, 0}}));
    return results;
}

Tensor late_tiled(const Tensor& x, const Tensor& repeats) {
    int rank = rank_of(x);
    if (length_of(repeats, "a list of copies") != rank)
        invalid(repeats.shape()[0], " numbers of copies for rank ", rank);
    Tensor y = x;
    for (int i = 0; i < rank; ++i) {
        Tensor extent = as_i64(extent_of(x, i));
        Tensor count = ops::mul(extent, as_dtype(each_of(repeats, i), DType::i64));
        Tensor place = ops::mod(count_up(count, DType::i64), extent);
        y = ops::take({y, as_index(place)}, {.axes = {i}});
    }
    return y;
}

Tensor late_sliced(const Tensor& x, const Tensor& starts, const Tensor& ends, const Tensor& axes,
                   const Tensor& steps) {
    int rank = rank_of(x), count = length_of(starts, "a list of starts");
    Tensor named = axes ? late_axes(axes, rank) : first_numbers(count);
    // Beyond all extents; the smallest numbers have other meanings for our slices.
    constexpr int64_t beyond = int64_t(1) << 40;
    auto bounded = [&](const Tensor& numbers) {
        return ops::minimum(ops::maximum(as_dtype(numbers, DType::i64), whole(-beyond)), whole(beyond));
    };
    auto spread = [&](const Tensor& numbers, int64_t otherwise) {
        return spread_over_axes(bounded(numbers), named, vector_of(IntList(size_t(rank), otherwise)));
    };
    Tensor first = spread(starts, 0), end = spread(ends, beyond);
    Tensor step = steps ? spread(steps, 1) : vector_of(IntList(size_t(rank), 1));
    IntList items;
    Tensors operands{x};
    for (int i = 0; i < rank; ++i) {
        items.insert(items.end(),
                     {i, ops::bound_from_input, ops::bound_from_input, ops::bound_from_input, 0});
        for (auto* bound : {&first, &end, &step}) operands.push_back(each_of(*bound, i));
    }
    return ops::slice(TensorList(operands), {.items = items});
}

Tensor late_padded(const Tensor& x, const Tensor& pads, const Tensor& axes, Outside outside,
                   const Tensor& value) {
    int rank = rank_of(x), count = length_of(pads, "a list of margins") / 2;
    Tensor named = axes ? late_axes(axes, rank) : first_numbers(rank);
    if (length_of(named, "a list of axes") != count) invalid(2 * count, " margins for other axes");
    Tensor none = vector_of(IntList(size_t(rank), 0));
    Tensor before = spread_over_axes(cut(pads, 0, 0, count), named, none);
    Tensor after = spread_over_axes(cut(pads, 0, count, 2 * count), named, none);
    Tensor extents = ops::add(extents_of(x, 0, rank), ops::add(before, after));
    Tensor y = x;
    for (int i = 0; i < rank; ++i) {
        Tensor first = ops::neg(each_of(before, i));
        Stretch stretch{i, rank - 1 - i, extent_of(x, i), first, each_of(extents, i)};
        y = stretch_of(y, stretch, outside, value);
    }
    return y;
}

Tensor along_late_axis(const Tensor& x, const Tensor& axis, const std::function<Tensor(int axis)>& f) {
    int rank = rank_of(x);
    Tensor named = ops::reshape(late_axes(axis, rank), {.shape = {}}), result;
    for (int i = 0; i < rank; ++i) {
        Tensor own = f(i);
        result = result ? ops::where(ops::equal(named, whole(i)), own, result) : own;
    }
    return result;
}

}  // namespace mge::onnx
