// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/adagrad_step.h"

#include "libmge/ops/optimize/optimizer_inputs.h"

namespace mge::ops {

TensorSpecs AdagradStep::infer(const Params&, Specs in) {
    check_parameter(name, in[0]);
    check_like_parameter(name, "grad", in[1], in[0]);
    check_like_parameter(name, "square_sum", in[2], in[0]);
    check_one_number(name, "step", in[3]);
    check_one_number(name, "lr", in[4]);
    return {in[0], in[2], in[3]};
}

}  // namespace mge::ops
