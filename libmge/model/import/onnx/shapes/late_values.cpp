// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/late_values.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/op/apply.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/dtype_dispatch.h"

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
    Tensor count = ops::sum(hits, {.axes = {0}});
    require_within(count, 0, 1, "an axis must be listed once");
    return ops::greater(count, whole(0));
}

std::vector<double> real_numbers_in(const Tensor& constant) {
    std::vector<double> numbers;
    dispatch_dtype(constant.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t i = 0; i < constant.spec().numel(); ++i)
            numbers.push_back(double(ComputedAs<T>(constant.data<T>()[i])));
    });
    return numbers;
}

Tensor each_of(const Tensor& vector, int64_t i) { return cut(vector, 0, i, i + 1); }

}  // namespace

void require_equal(const Tensor& wanted, const Tensor& given, const std::string& claim) {
    Tensor known = find_value(given), other = find_value(wanted);
    if (!known || !other) {
        ops::assert_equal(wanted, given, {.max_error = 0, .claim = claim});
        return;
    }
    auto numbers = real_numbers_in(known), others = real_numbers_in(other);
    for (size_t i = 0; i < numbers.size(); ++i)
        if (numbers[i] != others[std::min(i, others.size() - 1)]) invalid(claim, ", got ", numbers[i]);
}

// Numbers that follow from sizes may be proven to be within bounds.
void require_within(const Tensor& given, int64_t least, int64_t most, const std::string& claim) {
    auto is_within = [&](int64_t n) { return n >= least && n <= most; };
    if (Tensor known = find_value(given)) {
        for (int64_t n : numbers_in(known))
            if (!is_within(n)) invalid(claim, ", got ", n);
        return;
    }
    auto extents = symbolic_value(given).elements;
    bool is_proven = extents && std::ranges::all_of(*extents, [&](auto& extent) {
                         return extent.lower() >= least && (most >= beyond || extent.upper() <= most);
                     });
    if (is_proven) return;
    Tensor wide = as_dtype(given, DType::i64);
    require_equal(ops::minimum(ops::maximum(wide, whole(least)), whole(most)), wide, claim);
}

Tensor bounded(const Tensor& numbers) {
    return ops::minimum(ops::maximum(as_dtype(numbers, DType::i64), whole(-beyond)), whole(beyond));
}

Tensor late_axes(const Tensor& axes, int rank) {
    Tensor wide = as_dtype(axes, DType::i64);
    require_within(wide, -rank, rank - 1, text("the axes of rank ", rank, " are ", -rank, " to ", rank - 1));
    return ops::where(ops::less(wide, whole(0)), ops::add(wide, whole(rank)), wide);
}

Tensor spread_over_axes(const Tensor& numbers, const Tensor& axes, const Tensor& otherwise) {
    if (auto rank = find_extent(otherwise, 0)) is_named(axes, int(*rank));
    return ops::set_take({otherwise, as_dtype(numbers, DType::i64), as_index(axes)}, {.axes = {0}});
}

int length_of(const Tensor& vector, std::string_view what) {
    auto length = rank_of(vector) == 1 ? find_extent(vector, 0) : std::nullopt;
    if (!length) unsupported(what, " whose length is known only at run time");
    if (*length > 2 * max_rank) invalid(what, " has ", *length, " numbers, expected at most ", 2 * max_rank);
    return int(*length);
}

std::optional<Extents> known_extents(const Tensor& shape) {
    auto length = find_rank(shape) == 1 ? find_extent(shape, 0) : std::nullopt;
    if (!length || *length > max_rank) return std::nullopt;
    Extents extents(static_cast<size_t>(*length));
    if (auto known = symbolic_value(shape).elements)
        for (size_t i = 0; i < extents.size(); ++i)
            if ((*known)[i].lower() >= 0) extents[i] = (*known)[i];
    return extents;
}

Extents extents_of_shape(const Tensor& t) {
    Shape shape = symbolic_shape(t);
    Extents extents;
    for (int i = 0; i < shape.rank(); ++i) extents.emplace_back(shape.extent(i));
    return extents;
}

Tensor with_shape_of(const Tensor& made, const Tensor& shape) {
    return with_extents(made, known_extents(shape));
}

Tensor with_extents(const Tensor& made, const std::optional<Extents>& extents) {
    if (!extents || extents->size() > size_t(max_rank) || !made.is_symbolic()) return made;
    Shape shape;
    for (auto& extent : *extents) shape.push_back(extent ? *extent : unknown_extent(made, shape.rank()));
    return assume(made, shape);
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
    // An extra element for all positions outside: there may be no other.
    IntList none(size_t(stretch.axis) + 1 + size_t(stretch.trailing), 0), one = none;
    one[size_t(stretch.axis)] = 1;
    Tensor longer = ops::pad(x, {.before = none, .after = one});
    Tensor is_inside = ops::logical_and(ops::greater_equal(place, whole(0)), ops::less_equal(place, last));
    Tensor found = taken(longer, ops::where(is_inside, place, extent));
    return ops::where(as_column(is_inside, stretch.trailing), found, value);
}

namespace {
// Offsets of the elements of the axes with these sizes among all elements, i64 (their number): the other axes
// are at their first index, and have size 1 here.
Tensor offsets_along(const Tensor& own, const Tensor& all, int rank) {
    Tensor rest = count_up(ops::prod(own, {.axes = {0}, .keepdims = true}), DType::i64), stride = whole(1);
    Tensor offset = ops::mul(rest, whole(0));
    for (int i = rank; i-- > 0;) {
        // An axis without elements has no divisor.
        Tensor extent = ops::maximum(each_of(own, i), whole(1));
        offset = ops::add(offset, ops::mul(ops::mod(rest, extent), stride));
        rest = ops::floor_div(rest, extent);
        stride = ops::mul(stride, each_of(all, i));
    }
    return offset;
}
}  // namespace

// Rows of the elements that are reduced to one.
Tensor late_reduced(const Tensor& x, const Tensor& axes, bool keepdims, const ReduceFixed& reduce) {
    int rank = rank_of(x);
    length_of(axes, "a list of axes");
    Tensor is_removed = is_named(axes, rank), extents = extents_of(x, 0, rank), one = whole(1);
    Tensor kept = ops::where(is_removed, one, extents), removed = ops::where(is_removed, extents, one);
    Tensor place =
        ops::add(as_column(offsets_along(kept, extents, rank), 1), offsets_along(removed, extents, rank));
    Tensor rows = ops::take({ops::reshape(x, {.shape = {-1}}), as_index(place)}, {.axes = {0}});
    Tensor y = reduce(rows, {1});
    return ops::reshape(y,
                        keepdims ? kept : Tensor(ops::cond_take(extents, ops::logical_not(is_removed))[0]));
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
        invalid("it has ", counted(sizes.shape()[0], "part"), " but ", counted(parts, "output"));
    Tensor ends = ops::cumsum(as_dtype(sizes, DType::i64), {.axis = 0});
    require_within(sizes, 0, beyond, "a part must have 0 or more elements");
    require_equal(std::get<Tensor>(extent_of(x, axis)), each_of(ends, int64_t(parts) - 1),
                  text("the parts must add up to the size of axis ", axis));
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
        invalid("its repeats have ", counted(repeats.shape()[0], "number"), ", its input has rank ", rank);
    require_within(repeats, 0, beyond, "the number of copies must be at least 0");
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
    auto spread = [&](const Tensor& numbers, int64_t otherwise) {
        return spread_over_axes(bounded(numbers), named, vector_of(IntList(size_t(rank), otherwise)));
    };
    Tensor first = spread(starts, 0), end = spread(ends, beyond);
    Tensor step = steps ? spread(steps, 1) : vector_of(IntList(size_t(rank), 1));
    // Backwards from before the first is from the first.
    if (steps && rank)
        first = ops::where(ops::less(step, whole(0)), ops::maximum(first, ops::neg(extents_of(x, 0, rank))),
                           first);
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
    if (length_of(named, "a list of axes") != count) invalid("its ", 2 * count, " pads do not fit its axes");
    Tensor none = vector_of(IntList(size_t(rank), 0));
    Tensor before = spread_over_axes(bounded(cut(pads, 0, 0, count)), named, none);
    Tensor after = spread_over_axes(bounded(cut(pads, 0, count, 2 * count)), named, none);
    auto above_zero = [](const Tensor& t) -> Tensor { return ops::maximum(t, whole(0)); };
    Tensor y = x;
    for (int i = 0; i < rank; ++i) {
        Tensor left = each_of(before, i), right = each_of(after, i), extent = as_i64(extent_of(x, i));
        // Margins below 0 cut elements off before others are added.
        Tensor begin = above_zero(ops::neg(left)), end = ops::add(extent, ops::minimum(right, whole(0)));
        Extents extents = extents_of_shape(y);
        extents[size_t(i)].reset();
        y = with_extents(ops::slice({y, begin, above_zero(end)},
                                    {.items = {i, ops::bound_from_input, ops::bound_from_input, 1, 0}}),
                         extents);
        Tensor have = above_zero(ops::sub(end, begin));
        left = above_zero(left), right = above_zero(right);
        if (outside == Outside::mirrored) {
            Tensor larger = ops::maximum(left, right), most = above_zero(ops::sub(have, whole(1)));
            require_equal(ops::minimum(larger, most), larger,
                          text("a margin of axis ", i, " mirrors at most all elements but the edge"));
        }
        Tensor count = ops::add(have, ops::add(left, right));
        y = stretch_of(y, {i, rank - 1 - i, have, Tensor(ops::neg(left)), count}, outside, value);
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
