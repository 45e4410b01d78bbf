// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert.h"

#include "libmge/op/define.h"

namespace mge {

Tensor convert_dtype(const Tensor& x, DType dtype) {
    return x.dtype() == dtype ? x : ops::convert(x, {.dtype = dtype});
}

namespace ops {

constinit const OpInfo Convert::info = define<Convert>();

TensorSpecs Convert::infer(const Params& p, std::span<const TensorSpec> in) {
    return {{p.dtype, in[0].shape, {}}};
}

Tensors Convert::gradient(const GradientContext<Params>& g) {
    DType source = g.input("x").dtype();
    if (!is_float(source)) return g.result({});
    return g.result({{"x", convert_dtype(g.output_grad(), source)}});
}

}  // namespace ops
}  // namespace mge
