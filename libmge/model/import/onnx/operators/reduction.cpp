// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, which are an attribute in older versions and an input in newer ones.

#include "libmge/ops/reduce/reduce.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/model/import/onnx/wire/integer_range.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

using Reduce = Tensor (*)(const Tensor& x, const ops::ReduceParams& p);

Tensor sum(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(x, p); }
Tensor prod(const Tensor& x, const ops::ReduceParams& p) { return ops::prod(x, p); }
// Integers lose their fraction.
Tensor mean(const Tensor& x, const ops::ReduceParams& p) { return as_dtype(ops::mean(x, p), x.dtype()); }

bool has_elements(const Tensor& x, int64_t axis) { return find_extent(x, int(axis)).value_or(0) > 0; }

// Axes that have elements in every run are reduced first, so that little is copied. A tensor of unknown rank
// is reduced as a vector.
template <const auto& f>
Tensor extreme(Tensor x, const ops::ReduceParams& p, double loser) {
    if (p.axes.empty() && !p.keepdims && !find_rank(x))
        return extreme<f>(ops::reshape(x, {.shape = {-1}}), {.axes = {0}}, loser);
    IntList axes = p.axes.empty() ? all_axes(rank_of(x)) : p.axes, sure;
    std::ranges::copy_if(axes, std::back_inserter(sure), [&](int64_t axis) { return has_elements(x, axis); });
    if (sure.size() == axes.size()) return f(x, p);
    if (!sure.empty()) x = f(x, {sure, true});
    return f(with_loser(x, axes, loser), p);
}

struct Losers {
    double of_max, of_min;
};
Losers losers_of(DType dtype) {
    double infinity = std::numeric_limits<double>::infinity();
    if (is_float(dtype)) return {-infinity, infinity};
    IntegerRange range = integer_range(dtype);
    return {range.least, range.most};
}

Tensor l1(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(ops::abs(x), p); }
Tensor sum_square(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(ops::mul(x, x), p); }
Tensor l2(const Tensor& x, const ops::ReduceParams& p) {
    Tensor wide = is_float(x.dtype()) ? x : as_dtype(x, DType::f32);
    return as_dtype(ops::sqrt(sum_square(wide, p)), x.dtype());
}
Tensor log_sum(const Tensor& x, const ops::ReduceParams& p) {
    Tensor wide = is_float(x.dtype()) ? x : as_dtype(x, DType::f64);
    return as_dtype(ops::log(ops::sum(wide, p)), x.dtype());
}

// The maximum is subtracted first, so that nothing overflows; an infinite one is not.
Tensor log_sum_exp(const Tensor& x, const ops::ReduceParams& p) {
    if (!is_float(x.dtype())) return as_dtype(log_sum_exp(as_dtype(x, DType::f64), p), x.dtype());
    Tensor largest = largest_along(x, {.axes = p.axes, .keepdims = true});
    Tensor shift = ops::where(ops::isinf(largest), number(x, 0), largest);
    Tensor sum = ops::log(ops::sum(ops::exp(ops::sub(x, shift)), p));
    Tensor back = p.keepdims       ? shift
                  : p.axes.empty() ? ops::reshape(shift, {.shape = {}})
                                   : ops::remove_axis(shift, {.axes = p.axes});
    return ops::add(sum, back);
}

Tensors reduced(const Site& site, Reduce reduce) {
    Tensor x = site.in(0);
    bool keeps = site.attributes.integer("keepdims", 1);
    bool has_axes = site.has(1) && find_extent(site.in(1), 0) != 0;
    if (!site.attributes.has("axes") && has_axes && !site.find_values(1)) {
        site.attributes.integer("noop_with_empty_axes", 0);  // there are some
        return {late_reduced(x, site.in(1), keeps, [&](auto& y, auto& fixed) {
            return reduce(y, {fixed, false});
        })};
    }
    auto axes = has_axes || site.attributes.has("axes") ? site.values_of("axes", 1) : std::nullopt;
    bool does_nothing = site.attributes.integer("noop_with_empty_axes", 0) && (!axes || axes->empty());
    ops::ReduceParams p{axes.value_or(IntList()), keeps};
    int rank = rank_of(x);
    for (int64_t& axis : p.axes) axis = site.axis(axis, rank);
    if (!does_nothing && rank) return {reduce(x, p)};
    // Without axes, an extra axis of size 1 applies the reduction to each element.
    return {reduce(ops::add_axis(x, {.axes = {0}}), {{0}, false})};
}

Tensors import_reduce_sum(const Site& site) { return reduced(site, sum); }
Tensors import_reduce_prod(const Site& site) { return reduced(site, prod); }
Tensors import_reduce_mean(const Site& site) { return reduced(site, mean); }
Tensors import_reduce_max(const Site& site) { return reduced(site, largest_along); }
Tensors import_reduce_min(const Site& site) { return reduced(site, smallest_along); }
Tensors import_reduce_l1(const Site& site) { return reduced(site, l1); }
Tensors import_reduce_l2(const Site& site) { return reduced(site, l2); }
Tensors import_reduce_log_sum(const Site& site) { return reduced(site, log_sum); }
Tensors import_reduce_log_sum_exp(const Site& site) { return reduced(site, log_sum_exp); }
Tensors import_reduce_sum_square(const Site& site) { return reduced(site, sum_square); }

}  // namespace

Tensor with_loser(const Tensor& x, const IntList& axes, double loser) {
    // A result of late_reduced() has an unknown shape: its last axis is reduced.
    IntList none(size_t(find_rank(x).value_or(int(axes.back()) + 1)), 0), after = none;
    for (int64_t axis : axes) after[size_t(axis)] = !has_elements(x, axis);
    return after == none ? x : Tensor(ops::pad(x, {.before = none, .after = after, .value = loser}));
}

// For bool: whether any, or all, are true.
Tensor largest_along(const Tensor& x, const ops::ReduceParams& p) {
    if (x.dtype() == DType::boolean)
        return as_dtype(largest_along(as_dtype(x, DType::u8), p), DType::boolean);
    return extreme<ops::max>(x, p, losers_of(x.dtype()).of_max);
}
Tensor smallest_along(const Tensor& x, const ops::ReduceParams& p) {
    if (x.dtype() == DType::boolean)
        return as_dtype(smallest_along(as_dtype(x, DType::u8), p), DType::boolean);
    // Their largest number is not a double.
    if (x.dtype() == DType::i64 || x.dtype() == DType::u64)
        return ops::bitwise_not(largest_along(ops::bitwise_not(x), p));
    return extreme<ops::min>(x, p, losers_of(x.dtype()).of_min);
}

ImportRows reduction_rows() {
    static constexpr ImportRow rows[] = {
        {"ReduceL1", import_reduce_l1},          {"ReduceL2", import_reduce_l2},
        {"ReduceLogSum", import_reduce_log_sum}, {"ReduceLogSumExp", import_reduce_log_sum_exp},
        {"ReduceMax", import_reduce_max},        {"ReduceMean", import_reduce_mean},
        {"ReduceMin", import_reduce_min},        {"ReduceProd", import_reduce_prod},
        {"ReduceSum", import_reduce_sum},        {"ReduceSumSquare", import_reduce_sum_square},
    };
    return rows;
}

}  // namespace mge::onnx
