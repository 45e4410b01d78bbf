// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adadelta_step.h"

#include "libmge/ops/optimize/optimizer_inputs.h"

namespace mge::ops {

TensorSpecs AdadeltaStep::infer(const Params&, Specs in) {
    check_parameter(name, in[0]);
    check_like_parameter(name, "grad", in[1], in[0]);
    check_like_parameter(name, "square_avg", in[2], in[0]);
    check_like_parameter(name, "delta_avg", in[3], in[0]);
    check_one_number(name, "step", in[4]);
    check_one_number(name, "lr", in[5]);
    return {in[0], in[2], in[3], in[4]};
}

}  // namespace mge::ops
