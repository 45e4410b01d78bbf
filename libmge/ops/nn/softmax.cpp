// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/softmax.h"

#include "libmge/op/define.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/shape/reduce_to_shape.h"

namespace mge::ops {

constinit const OpInfo Softmax::info = define<Softmax>();

TensorSpecs Softmax::infer(const Params& p, std::span<const TensorSpec> in) {
    normalize_axis(name, p.axis, in[0].shape.rank());
    if (!is_float(in[0].dtype))
        throw_user(name, text("x has to be floating, got ", in[0].dtype), ErrorClass::type);
    return {{in[0].dtype, in[0].shape, {}}};
}

Tensors Softmax::gradient(const GradientContext<Params>& g) {
    const Tensor &y = g.output(), &dy = g.output_grad();
    Shape shape = y.shape();
    shape[normalize_axis(name, g.params.axis, shape.rank())] = 1;
    auto sum = [&](const Tensor& t) {
        return reduce_to_shape(t, {.shape = IntList(shape.begin(), shape.end())});
    };
    if (g.params.log)  // dx = dy − exp(y)·Σdy
        return g.result({{"x", sub(dy, mul(exp(y), sum(dy)))}});
    // dx = y·(dy − Σ y·dy)
    return g.result({{"x", mul(y, sub(dy, sum(mul(y, dy))))}});
}

}  // namespace mge::ops
