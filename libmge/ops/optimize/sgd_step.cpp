// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/sgd_step.h"

namespace mge::ops {

TensorSpecs SgdStep::infer(const Params& p, Specs in) {
    check_parameter(name, in[0]);
    check_like_parameter(name, "grad", in[1], in[0]);
    if (!in[2].is_absent()) check_like_parameter(name, "velocity", in[2], in[0]);
    check_one_number(name, "lr", in[3]);
    if (p.nesterov && p.momentum == 0)
        throw_user(name, "Nesterov momentum requires a momentum", ErrorClass::assertion);
    TensorSpec velocity = in[0];
    if (p.momentum == 0) velocity.shape = Shape{0};
    return {in[0], velocity};
}

}  // namespace mge::ops
