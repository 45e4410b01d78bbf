// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge {

Tensor convert_dtype(const Tensor& x, DType dtype) {
    return x.dtype() == dtype ? x : ops::convert(x, {.dtype = dtype});
}

namespace ops {

TensorSpecs Convert::infer(const Params& p, Specs in) {
    if (p.dtype == DType::none) throw_type_error(name, "needs a dtype to convert to");
    return {{p.dtype, in[0].shape, {}}};
}

Tensors Convert::gradient(const GradientContext<Params>& g) {
    DType source = g.input("x").dtype();
    if (!is_float(source) || !is_float(g.params.dtype)) return g.result({});
    return g.result({{"x", convert_dtype(g.output_grad(), source)}});
}

TensorSpecs Copy::infer(const Params&, Specs in) { return {{in[0].dtype, in[0].shape, {}}}; }

Tensors Copy::gradient(const GradientContext<Params>& g) { return g.result({{"x", g.output_grad()}}); }

}  // namespace ops
}  // namespace mge
