// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_inputs.h"

#include "libmge/base/error.h"

namespace mge::ops {

void check_parameter(std::string_view op, const TensorSpec& parameter) {
    if (parameter.dtype != DType::f32)
        throw_type_error(op, "parameters must be float32, got ", parameter.dtype);
}

void check_like_parameter(std::string_view op, std::string_view input, const TensorSpec& tensor,
                          const TensorSpec& parameter) {
    if (tensor.dtype != DType::f32 || !(tensor.shape == parameter.shape))
        throw_user(op, text(input, " is ", tensor, ", expected that of the parameter, ", parameter));
}

void check_one_number(std::string_view op, std::string_view input, const TensorSpec& scalar) {
    if (scalar.dtype != DType::f32 || scalar.numel() != 1)
        throw_user(op, text(input, " is ", scalar, ", expected one float32 number"));
}

TensorSpecs specs_with_moments(std::string_view op, Specs in) {
    check_parameter(op, in[0]);
    check_like_parameter(op, "grad", in[1], in[0]);
    check_like_parameter(op, "exp_avg", in[2], in[0]);
    check_like_parameter(op, "exp_avg_sq", in[3], in[0]);
    check_one_number(op, "step", in[4]);
    check_one_number(op, "lr", in[5]);
    return {in[0], in[2], in[3], in[4]};
}

}  // namespace mge::ops
