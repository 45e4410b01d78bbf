// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, which are an attribute in older versions and an input in newer ones.

#include "libmge/ops/reduce/reduce.h"

#include "libmge/model/import/onnx/families.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

using Reduce = Tensor (*)(const Tensor& x, const ops::ReduceParams& p);

Tensor sum(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(x, p); }
Tensor prod(const Tensor& x, const ops::ReduceParams& p) { return ops::prod(x, p); }
// Integers lose their fraction.
Tensor mean(const Tensor& x, const ops::ReduceParams& p) { return as_dtype(ops::mean(x, p), x.dtype()); }

// Of truth values: whether one is, or all are, true.
Tensor max(const Tensor& x, const ops::ReduceParams& p) {
    if (x.dtype() != DType::boolean) return ops::max(x, p);
    return as_dtype(ops::max(as_dtype(x, DType::u8), p), DType::boolean);
}
Tensor min(const Tensor& x, const ops::ReduceParams& p) {
    if (x.dtype() != DType::boolean) return ops::min(x, p);
    return as_dtype(ops::min(as_dtype(x, DType::u8), p), DType::boolean);
}
Tensor l1(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(ops::abs(x), p); }
Tensor sum_square(const Tensor& x, const ops::ReduceParams& p) { return ops::sum(ops::mul(x, x), p); }
Tensor l2(const Tensor& x, const ops::ReduceParams& p) {
    Tensor wide = is_float(x.dtype()) ? x : as_dtype(x, DType::f32);
    return as_dtype(ops::sqrt(sum_square(wide, p)), x.dtype());
}
Tensor log_sum(const Tensor& x, const ops::ReduceParams& p) { return ops::log(ops::sum(x, p)); }

// The largest is taken out before, so that nothing overflows; one that is infinite stays in.
Tensor log_sum_exp(const Tensor& x, const ops::ReduceParams& p) {
    Tensor largest = ops::max(x, {.axes = p.axes, .keepdims = true});
    Tensor shift = ops::where(ops::isinf(largest), number(x, 0), largest);
    Tensor sum = ops::log(ops::sum(ops::exp(ops::sub(x, shift)), p));
    Tensor back = p.keepdims       ? shift
                  : p.axes.empty() ? ops::reshape(shift, {.shape = {}})
                                   : ops::remove_axis(shift, {.axes = p.axes});
    return ops::add(sum, back);
}

Tensors reduced(const Site& site, Reduce reduce) {
    Tensor x = site.in(0);
    auto axes = site.values_of("axes", 1);
    bool does_nothing = site.attributes.integer("noop_with_empty_axes", 0) && (!axes || axes->empty());
    ops::ReduceParams p{axes.value_or(IntList()), bool(site.attributes.integer("keepdims", 1))};
    int rank = rank_of(x);
    for (int64_t& axis : p.axes) axis = site.axis(axis, rank);
    if (!does_nothing && rank) return {reduce(x, p)};
    // Nothing to reduce over: an axis of extent 1 leaves what the reduction does to each element.
    return {reduce(ops::add_axis(x, {.axes = {0}}), {{0}, false})};
}

}  // namespace

Tensors import_reduce_sum(const Site& site) { return reduced(site, sum); }
Tensors import_reduce_prod(const Site& site) { return reduced(site, prod); }
Tensors import_reduce_mean(const Site& site) { return reduced(site, mean); }
Tensors import_reduce_max(const Site& site) { return reduced(site, max); }
Tensors import_reduce_min(const Site& site) { return reduced(site, min); }
Tensors import_reduce_l1(const Site& site) { return reduced(site, l1); }
Tensors import_reduce_l2(const Site& site) { return reduced(site, l2); }
Tensors import_reduce_log_sum(const Site& site) { return reduced(site, log_sum); }
Tensors import_reduce_log_sum_exp(const Site& site) { return reduced(site, log_sum_exp); }
Tensors import_reduce_sum_square(const Site& site) { return reduced(site, sum_square); }

}  // namespace mge::onnx
