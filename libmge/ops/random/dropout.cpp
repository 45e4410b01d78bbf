// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/dropout.h"

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

TensorSpecs Dropout::infer(const Params& p, Specs in) {
    check_random_state(name, in[1]);
    if (!is_float(in[0].dtype)) throw_type_error(name, "x must be floating, got ", in[0].dtype);
    if (!(p.probability >= 0 && p.probability < 1))
        throw_user(name, text("probability ", p.probability, " is not in [0, 1)"), ErrorClass::assertion);
    return {in[0], in[0]};
}

Tensors Dropout::gradient(const GradientContext<Params>& g) {
    if (!g.output_grad(0)) return g.result({});
    return g.result({{"x", mul(g.output_grad(0), g.output(1))}});
}

}  // namespace mge::ops
