// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/norm_gradient.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/nn/null_is_zero.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {
namespace {

Tensor less(const Tensor& a, const Tensor& b) { return !b ? a : !a ? neg(b) : sub(a, b); }
Tensor total(const Tensor& t, const IntList& axes) {
    return t ? sum(t, {.axes = axes, .keepdims = true}) : t;
}
Tensor average(const Tensor& t, const IntList& axes) {
    return t ? mean(t, {.axes = axes, .keepdims = true}) : t;
}

}  // namespace

NormBackwardGrads gradient_of(const NormBackward& b, const NormOutputGrads& grads) {
    Tensor dy = widened(b.dy), weight = widened(b.weight);
    Tensor of_dx = widened(grads.dx), of_dweight = widened(grads.dweight), of_dbias = widened(grads.dbias);
    const IntList &statistics = b.statistics_axes, &factors = b.factor_axes;
    Tensor centred = sub(widened(b.x), b.mean), normalized = mul(centred, b.inv_std);
    Tensor g = weight ? mul(dy, weight) : dy;

    // The loss is L = Σ of_dx·dx + Σ of_dweight·dweight + Σ of_dbias·dbias. With h = of_dx·inv_std:
    Tensor h = times(of_dx, b.inv_std);
    Tensor of_g = h;                               // dL/dg
    Tensor of_normalized = times(of_dweight, dy);  // dL/dx̂
    Tensor of_inv_std = times(of_dx, g);           // dL/dinv_std where x̂ stays, not yet summed
    NormBackwardGrads result;
    if (!b.constant_statistics && h) {
        Tensor mean_hx = average(mul(h, normalized), statistics), mean_g = average(g, statistics);
        Tensor mean_gx = average(mul(g, normalized), statistics);
        of_g = sub(sub(h, average(h, statistics)), mul(normalized, mean_hx));
        of_normalized = less(of_normalized, add(mul(h, mean_gx), mul(g, mean_hx)));
        of_inv_std = mul(of_dx, sub(sub(g, mean_g), mul(normalized, mean_gx)));
        if (b.dinv_std) {
            Tensor share = div(b.dinv_std, reduced_count(b.x, statistics));
            of_normalized = sub(of_normalized, mul(h, mul(b.inv_std, share)));
            result.inv_std = mul(constant_like(mean_hx, -2), mul(mean_hx, b.dinv_std));
        }
        if (b.dmean) result.dmean = average(of_dx, statistics);
        if (b.dinv_std) result.dinv_std = neg(mul(mean_hx, b.inv_std));
    }
    result.dy = plus(plus(weight ? times(of_g, weight) : of_g, times(of_dweight, normalized)), of_dbias);
    if (weight) result.weight = total(times(dy, of_g), factors);
    result.x = times(of_normalized, b.inv_std);
    if (result.x) result.mean = neg(total(result.x, statistics));
    result.inv_std = plus(result.inv_std, total(plus(times(of_normalized, centred), of_inv_std), statistics));
    return result;
}

Tensor in_form_of(const Tensor& grad, const Tensor& input) {
    if (!grad) return grad;
    return convert_dtype(reshape_like(grad, input), input.dtype());
}

Tensor gradient_through_statistics(const NormBackward& b) {
    Tensor normalized = mul(sub(widened(b.x), b.mean), b.inv_std);
    Tensor of_deviation = times(b.dinv_std, mul(b.inv_std, b.inv_std));
    Tensor sum = less(b.dmean, times(of_deviation, normalized));
    return sum ? div(sum, reduced_count(b.x, b.statistics_axes)) : sum;
}

}  // namespace mge::ops
