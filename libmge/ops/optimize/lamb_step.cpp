// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/lamb_step.h"

#include "libmge/op/define.h"
#include "libmge/ops/optimize/optimizer_inputs.h"

namespace mge::ops {

constinit const OpInfo LambStep::info = define<LambStep>();

TensorSpecs LambStep::infer(const Params&, std::span<const TensorSpec> in) {
    check_parameter(name, in[0]);
    check_like_parameter(name, "grad", in[1], in[0]);
    check_like_parameter(name, "exp_avg", in[2], in[0]);
    check_like_parameter(name, "exp_avg_sq", in[3], in[0]);
    check_one_number(name, "step", in[4]);
    check_one_number(name, "lr", in[5]);
    return {in[0], in[2], in[3], in[4]};
}

}  // namespace mge::ops
