// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/wait_for.h"

namespace mge::ops {

TensorSpecs WaitFor::infer(const Params&, Specs in) { return {{in[0].dtype, in[0].shape, {}}}; }

Tensors WaitFor::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", g.params.stops_gradient ? Tensor() : g.output_grad()}});
}

}  // namespace mge::ops
