// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/lamb_step.h"

#include "libmge/ops/optimize/optimizer_inputs.h"

namespace mge::ops {

TensorSpecs LambStep::infer(const Params&, Specs in) { return specs_with_moments(name, in); }

}  // namespace mge::ops
