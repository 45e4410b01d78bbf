// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/fake_quantize.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

TensorSpecs FakeQuantize::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::f32)
        throw_user(name, text("x must be float32, got ", in[0].dtype), ErrorClass::runtime);
    if (p.lower > p.upper)
        throw_value_error(name, "its lowest value ", p.lower, " is above its highest, ", p.upper);
    check_scale(name, in[0].shape, in[1], in.size() > 2 ? in[2] : TensorSpec{}, DType::f32);
    if (in.size() > 3 && !in[3].is_absent() && (in[3].dtype != DType::f32 || in[3].shape.numel() != 1))
        throw_user(name, text("its grad_scale must be one number of float32, got ", in[3].dtype, " of shape ",
                              in[3].shape));
    return {{DType::f32, in[0].shape, {}}};
}

// t = x / scale + zero_point; a learned scale gets dy · (round(t) - t inside, clip(t) outside).
Tensors FakeQuantize::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &scale = g.input("scale"), &zero = g.input("zero_point");
    const Tensor& dy = g.output_grad();
    bool is_learned = g.params.learning != ScaleLearning::none;
    auto number = [&](int64_t value) { return scalar_tensor(double(value), DType::f32, x.device()); };
    auto shifted = [&](const Tensor& t) { return zero ? add(t, zero) : t; };
    Tensor exact = div(x, scale);
    if (is_learned) exact = shifted(exact);
    Tensor step = is_learned ? round(exact) : shifted(round(exact));
    Tensor lower = number(g.params.lower), upper = number(g.params.upper);
    const Tensor& judged = g.params.learning == ScaleLearning::by_exact ? exact : step;
    Tensor is_inside = logical_and(greater_equal(judged, lower), less_equal(judged, upper));
    Tensor dx, dscale;
    if (g.needs("x")) dx = where(is_inside, dy, number(0));
    if (is_learned && g.needs("scale")) {
        Tensor clipped = minimum(upper, maximum(lower, step));
        dscale = reduce_to_shape(mul(dy, where(is_inside, sub(step, exact), clipped)), scale);
        if (const Tensor& factor = g.input("grad_scale")) dscale = reshape_like(mul(dscale, factor), scale);
    }
    return g.result({{"x", dx}, {"scale", dscale}});
}

}  // namespace mge::ops
