// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/softmax.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {

TensorSpecs Softmax::infer(const Params& p, Specs in) {
    normalize_axis(name, p.axis, in[0].shape.rank());
    if (!is_float(in[0].dtype)) throw_type_error(name, "x must be floating, got ", in[0].dtype);
    return {{in[0].dtype, in[0].shape, {}}};
}

Tensors Softmax::gradient(const GradientContext<Params>& g) {
    const Tensor &y = g.output(), &dy = g.output_grad();
    // A sum over the axis, not to a shape: a recorded gradient has to fit other batch sizes.
    auto total = [&](const Tensor& t) { return sum(t, {.axes = {g.params.axis}, .keepdims = true}); };
    if (g.params.log)  // dx = dy − exp(y)·Σdy
        return g.result({{"x", sub(dy, mul(exp(y), total(dy)))}});
    // dx = y·(dy − Σ y·dy)
    return g.result({{"x", mul(y, sub(dy, total(mul(y, dy))))}});
}

}  // namespace mge::ops
