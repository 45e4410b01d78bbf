// SPDX-License-Identifier: Apache-2.0
// Elements by index, and indices of elements. Ours are i32, those of files mostly i64.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/eye.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::onnx {
namespace {

// One index tensor for each element of the last axis.
Tensors split_places(const Tensor& x, const Tensor& index, int first_axis) {
    auto count = find_extent(index, rank_of(index) - 1);
    if (!count) unsupported("indices of an open length");
    if (*count + first_axis > rank_of(x) || *count < 1)
        invalid("its indices have ", counted(*count, "element"), ", more than the rank of ", x.shape());
    Tensors indices;
    for (int64_t i = 0; i < *count; ++i) indices.push_back(as_index(element(index, rank_of(index) - 1, i)));
    return indices;
}

Tensors with_operands(Tensors first, const Tensors& others) {
    first.insert(first.end(), others.begin(), others.end());
    return first;
}

std::string reduction_of(const Site& site) { return site.attributes.word("reduction", "none"); }

// The number of the column, less that of the row, of each element of a matrix: 0 on the diagonal.
Tensor diagonal_numbers(const Tensor& x) {
    int rank = rank_of(x);
    Tensor rows = ops::add_axis(count_up(extent_of(x, rank - 2), DType::i64), {.axes = {1}});
    return ops::sub(count_up(extent_of(x, rank - 1), DType::i64), rows);
}

// Equal values keep their order. Our descending order is the reverse of the ascending one, so it is applied
// to the reversed axis.
struct Order {
    bool is_falling;
    Tensor read(const Tensor& x, int axis) const {
        return is_falling ? Tensor(ops::flip(x, {.axes = {axis}})) : x;
    }
    Tensor place(const Tensor& found, const Tensor& x, int axis) const {
        Tensor at = as_dtype(found, DType::i64);
        if (!is_falling) return at;
        Tensor extent = ops::reshape(std::get<Tensor>(extent_of(x, axis)), {.shape = {}});
        return ops::sub(ops::sub(extent, scalar_tensor(1, DType::i64, host_device)), at);
    }
};

// The extremes of an axis with their places, largest or smallest first.
Tensors extremes(const Tensor& x, int axis, int64_t k, bool largest) {
    int last = rank_of(x) - 1;
    Order order{largest};
    Tensors found = ops::topk(moved_axis(order.read(x, axis), axis, last),
                              {.k = k, .descending = largest, .nan_is_largest = true});
    return {moved_axis(found[0], last, axis), order.place(moved_axis(found[1], last, axis), x, axis)};
}

// A number known only at run time: the first ones of all.
Tensors late_extremes(const Tensor& x, int axis, const Tensor& k, bool largest) {
    Order order{largest};
    Tensors found =
        ops::sort(order.read(x, axis), {.axis = axis, .descending = largest, .nan_is_largest = true});
    for (auto& t : found) t = ops::slice({t, k}, {.items = {axis, 0, ops::bound_from_input, 1, 0}});
    return {found[0], order.place(found[1], x, axis)};
}

template <const auto& f>
Tensors extreme_place(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(x));
    bool keeps = site.attributes.integer("keepdims", 1),
         takes_last = site.attributes.integer("select_last_index", 0);
    if (!takes_last) return {as_dtype(f(x, {.axis = axis, .keepdims = keeps}), DType::i64)};
    Tensor from_end =
        as_dtype(f(ops::flip(x, {.axes = {axis}}), {.axis = axis, .keepdims = keeps}), DType::i64);
    Tensor last = ops::sub(ops::reshape(std::get<Tensor>(extent_of(x, axis)), {.shape = {}}),
                           scalar_tensor(1, DType::i64, host_device));
    return {ops::sub(last, from_end)};
}

Tensors import_gather(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(x));
    return {ops::take({x, as_index(site.in(1))}, {.axes = {axis}})};
}

Tensors import_gather_elements(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(x));
    Tensor index = as_index(site.in(1));
    return {with_extents(ops::gather(x, index, {.axis = axis}), extents_of_shape(index))};
}

Tensors import_scatter_elements(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", 0), rank_of(x));
    Tensor index = as_index(site.in(1));
    std::string reduction = reduction_of(site);
    bool adds = reduction == "add";
    if (!adds && reduction != "none") return {scattered_elements(site, axis, index, reduction)};
    return {adds ? ops::scatter_add(x, index, site.in(2), {.axis = axis})
                 : ops::scatter(x, index, site.in(2), {.axis = axis})};
}

// The places of leading axes that both have are counted.
Tensors import_gather_nd(const Site& site) {
    const Tensor &x = site.in(0), &index = site.in(1);
    auto batch = int(site.attributes.integer("batch_dims", 0));
    if (batch < 0 || batch >= rank_of(index) || batch >= rank_of(x))
        invalid("its ", counted(batch, "batch axis", "batch axes"), " exceed the rank of its inputs");
    Tensors indices;
    for (int i = 0; i < batch; ++i)
        indices.push_back(with_trailing_axes(count_up(extent_of(x, i), DType::i32), rank_of(index) - 2 - i));
    Tensors rest = split_places(x, index, batch);
    IntList axes = all_axes(batch + int(rest.size()));
    return {ops::take(TensorList(with_operands({x}, with_operands(indices, rest))), {.axes = axes})};
}

Tensors import_scatter_nd(const Site& site) {
    const Tensor& x = site.in(0);
    Tensors indices = split_places(x, site.in(1), 0);
    TensorList operands(with_operands({x, site.in(2)}, indices));
    IntList axes = all_axes(int(indices.size()));
    std::string reduction = reduction_of(site);
    bool adds = reduction == "add";
    if (!adds && reduction != "none") return {scattered_rows(site, indices, reduction)};
    return {adds ? ops::add_take(operands, {.axes = axes}) : ops::set_take(operands, {.axes = axes})};
}

Tensors import_arg_max(const Site& site) { return extreme_place<ops::argmax>(site); }
Tensors import_arg_min(const Site& site) { return extreme_place<ops::argmin>(site); }

Tensors import_topk(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", -1), rank_of(x));
    bool is_largest = site.attributes.integer("largest", 1);
    site.attributes.integer("sorted", 1);
    Tensor count = site.opset < 10 ? vector_of({site.attributes.integer("k", 1)}) : site.in(1);
    auto known = find_value(count);
    int64_t k = known ? only(numbers_in(known), "how many") : 0;
    Tensor have = std::get<Tensor>(extent_of(x, axis)), wanted = ops::reshape(count, {.shape = {1}});
    auto extent = find_extent(x, axis);
    if (extent) have = vector_of({*extent});
    require_within(wanted, 0, beyond, "the number of selected elements must be at least 0");
    std::string claim = text("no more elements than axis ", axis, " has may be taken");
    if (known && extent && k > *extent) invalid(claim, ": ", k, " of ", *extent);
    if (known && !extent) site.importer.prefer_at_least(x, axis, k);
    if (!known || !extent) require_equal(ops::minimum(wanted, as_dtype(have, wanted.dtype())), wanted, claim);
    return known && k ? extremes(x, axis, k, is_largest) : late_extremes(x, axis, wanted, is_largest);
}

Tensors import_one_hot(const Site& site) {
    const Tensor& index = site.in(0);
    // It may be a real number.
    Tensor wide = as_dtype(ops::reshape(site.in(1), {.shape = {1}}), DType::i64);
    Tensor known = find_value(wide);
    int rank = rank_of(index) + 1, axis = site.axis(site.attributes.integer("axis", -1), rank);
    require_within(wide, 1, beyond, "the depth is at least 1");
    Extent depth = known ? Extent(numbers_in(known)[0]) : Extent(wide);
    Tensor at = as_dtype(index, DType::i64), count = ops::reshape(wide, {.shape = {}});
    at = ops::where(ops::less(at, number(at, 0)), ops::add(at, count), at);
    Tensor classes = as_column(count_up(depth, DType::i64), rank - 1 - axis);
    Tensor is_hot = ops::equal(ops::add_axis(at, {.axes = {axis}}), classes);
    return {ops::where(is_hot, element(site.in(2), 0, 1), element(site.in(2), 0, 0))};
}

Tensors import_non_zero(const Site& site) {
    const Tensor& x = site.in(0);
    int rank = rank_of(x);
    Tensor flat = ops::reshape(x, {.shape = {-1}});
    Tensor at = with_unknown_length(
        ops::cond_take(flat, x.dtype() == DType::boolean ? flat : ops::not_equal(flat, number(x, 0)))[1]);
    Tensors places;
    // The last axis counts fastest.
    for (int i = rank - 1; i >= 0; --i) {
        Tensor extent = ops::shape_of(x, {.axis = i});
        places.insert(places.begin(), ops::reshape(i ? ops::mod(at, extent) : at, {.shape = {1, -1}}));
        if (i) at = ops::floor_div(at, extent);
    }
    if (places.empty()) unsupported("a scalar");
    return {as_dtype(ops::concat(TensorList(places), {.axis = 0}), DType::i64)};
}

Tensors import_range(const Site& site) {
    const Tensor &start = site.in(0), &limit = site.in(1), &delta = site.in(2);
    for (auto& t : site.inputs())
        if (t.dtype() == DType::boolean || is_narrow(t.dtype())) unsupported("numbers of ", t.dtype());
    auto whole = [&](size_t i) { return is_float(site.in(i).dtype()) ? std::nullopt : site.find_values(i); };
    auto first = whole(0), last = whole(1), step = whole(2);
    if (first && last && step)
        return {ops::arange({.start = double(only(*first, "the first number")),
                             .stop = double(only(*last, "the last number")),
                             .step = double(only(*step, "the step")),
                             .dtype = start.dtype()})};
    return {with_unknown_length(ops::arange(start, limit, delta, {.dtype = start.dtype()}))};
}

Tensors import_trilu(const Site& site) {
    const Tensor& x = site.in(0);
    if (rank_of(x) < 2) invalid("its input has rank ", rank_of(x), ", expected at least 2");
    Tensor k =
        site.has(1) ? ops::reshape(site.in(1), {.shape = {}}) : scalar_tensor(0, DType::i64, host_device);
    Tensor diagonals = diagonal_numbers(x);
    Tensor is_kept = site.attributes.integer("upper", 1) ? ops::greater_equal(diagonals, k)
                                                         : ops::less_equal(diagonals, k);
    return {ops::where(is_kept, x, number(x, 0))};
}

// Shifted by one along an axis: a zero enters, the last element is dropped.
Tensor one_later(const Tensor& x, int axis) {
    IntList before(size_t(rank_of(x)), 0), none = before;
    before[size_t(axis)] = 1;
    return cut(ops::pad(x, {.before = before, .after = none}), axis, 0, -1);
}

// Without the element itself: the sums up to the one before. Taking it off again would lose digits.
Tensors import_cum_sum(const Site& site) {
    bool reverse = site.attributes.integer("reverse", 0), exclusive = site.attributes.integer("exclusive", 0);
    auto sums_along = [&](int axis) -> Tensor {
        Tensor x = reverse ? Tensor(ops::flip(site.in(0), {.axes = {axis}})) : site.in(0);
        Tensor sums = ops::cumsum(exclusive ? one_later(x, axis) : x, {.axis = axis});
        return reverse ? Tensor(ops::flip(sums, {.axes = {axis}})) : sums;
    };
    auto axes = site.find_values(1);
    if (!axes) return {along_late_axis(site.in(0), site.in(1), sums_along)};
    if (axes->size() != 1) invalid("it sums along ", axes->size(), " axes, expected one");
    return {sums_along(site.axis((*axes)[0], site.rank(0)))};
}

Tensors import_eye_like(const Site& site) {
    const Tensor& x = site.in(0);
    if (rank_of(x) != 2) invalid("its input has rank ", rank_of(x), ", expected 2");
    auto to = site.attributes.integer("dtype", 0);
    auto dtype = to ? dtype_of(int(to)) : std::optional(x.dtype());
    if (!dtype) unsupported("dtype ", name_of_data_type(int(to)));
    Tensor k = scalar_tensor(double(site.attributes.integer("k", 0)), DType::i64, host_device);
    return {as_dtype(ops::equal(diagonal_numbers(x), k), *dtype)};
}

// The elements, or slices along an axis, where a vector is true; elements beyond its end are not selected.
Tensors import_compress(const Site& site) {
    bool is_flat = !site.attributes.has("axis");
    Tensor x = is_flat ? ops::reshape(site.in(0), {.shape = {-1}}) : site.in(0);
    int axis = is_flat ? 0 : site.axis(site.attributes.integer("axis", 0), rank_of(x));
    auto known = site.find_values(1);
    if (!known) {
        Tensor at = ops::cond_take(count_up(extent_of(site.in(1), 0), DType::i32), site.in(1))[0];
        return {ops::take({x, with_unknown_length(at)}, {.axes = {axis}})};
    }
    auto& kept = *known;
    std::vector<int32_t> places;
    for (size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) places.push_back(int32_t(i));
    Tensor index = tensor_from_host({DType::i32, {int64_t(places.size())}, {}}, places.data(), host_device);
    return {ops::take({x, index}, {.axes = {axis}})};
}

Tensors import_reverse_sequence(const Site& site) {
    const Tensor& x = site.in(0);
    int time = site.axis(site.attributes.integer("time_axis", 0), rank_of(x));
    int batch = site.axis(site.attributes.integer("batch_axis", 1), rank_of(x));
    if (time + batch != 1) unsupported("sequences along the axes ", batch, " and ", time);
    return {reversed_sequences(x, batch, site.in(1))};
}

// Products up to each element, by doubled distances.
Tensors import_cum_prod(const Site& site) {
    bool reverse = site.attributes.integer("reverse", 0), exclusive = site.attributes.integer("exclusive", 0);
    auto products_along = [&](int axis) -> Tensor {
        Tensor x = reverse ? Tensor(ops::flip(site.in(0), {.axes = {axis}})) : site.in(0);
        auto extent = find_extent(x, axis);
        if (!extent) unsupported("a product along an open dimension");
        IntList before(size_t(rank_of(x)), 0), none = before;
        auto delayed = [&](int64_t steps) -> Tensor {
            before[size_t(axis)] = steps;
            return ops::pad(cut(x, axis, 0, *extent - steps), {.before = before, .after = none, .value = 1});
        };
        if (exclusive && *extent) x = delayed(1);
        for (int64_t distance = 1; distance < *extent; distance *= 2) x = ops::mul(x, delayed(distance));
        return reverse ? Tensor(ops::flip(x, {.axes = {axis}})) : x;
    };
    auto axes = site.find_values(1);
    if (!axes) return {along_late_axis(site.in(0), site.in(1), products_along)};
    if (axes->size() != 1) invalid("it multiplies along ", axes->size(), " axes, expected one");
    return {products_along(site.axis((*axes)[0], site.rank(0)))};
}

}  // namespace

Tensor reversed_sequences(const Tensor& x, int batch, const Tensor& lengths) {
    Tensor sequences = moved_axis(x, batch, 0);
    Tensor length = as_column(as_dtype(lengths, DType::i64), 1);
    Tensor step = count_up(extent_of(x, 1 - batch), DType::i64);
    Tensor last = ops::sub(length, number(length, 1));
    Tensor place = ops::where(ops::less(step, length), ops::sub(last, step), step);
    Tensor number = as_column(count_up(extent_of(x, batch), DType::i32), 1);
    return moved_axis(ops::take({sequences, number, as_index(place)}, {.axes = {0, 1}}), 0, batch);
}

ImportRows indexing_rows() {
    static constexpr ImportRow rows[] = {
        {"ArgMax", import_arg_max},
        {"ArgMin", import_arg_min},
        {"Compress", import_compress, 9},
        {"CumProd", import_cum_prod, 26},
        {"CumSum", import_cum_sum, 11},
        {"EyeLike", import_eye_like, 9},
        {"Gather", import_gather},
        {"GatherElements", import_gather_elements, 11},
        {"GatherND", import_gather_nd, 11},
        {"NonZero", import_non_zero, 9},
        {"OneHot", import_one_hot, 9},
        {"Range", import_range, 11},
        {"ReverseSequence", import_reverse_sequence, 10},
        {"Scatter", import_scatter_elements, 9, 10},
        {"ScatterElements", import_scatter_elements, 11},
        {"ScatterND", import_scatter_nd, 11},
        {"TopK", import_topk},
        {"Trilu", import_trilu, 14},
    };
    return rows;
}

}  // namespace mge::onnx
