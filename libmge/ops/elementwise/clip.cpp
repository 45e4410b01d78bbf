// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/clip.h"

#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::ops {

TensorSpecs Clip::infer(const Params&, Specs in) { return infer_elementwise(name, in, accepted, false); }

// Flows where x itself came out, the bounds included.
Tensors Clip::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.output_grad();
    Tensor inside = logical_and(greater_equal(x, constant_like(x, g.params.lower)),
                                less_equal(x, constant_like(x, g.params.upper)));
    return g.result({{"x", where(inside, dy, constant_like(dy, 0))}});
}

}  // namespace mge::ops
