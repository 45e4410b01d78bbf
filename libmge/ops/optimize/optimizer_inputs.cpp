// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_inputs.h"

#include "libmge/base/error.h"

namespace mge::ops {

void check_parameter(std::string_view op, const TensorSpec& parameter) {
    if (parameter.dtype != DType::f32)
        throw_user(op, text("parameters have to be float32, got ", parameter.dtype), ErrorClass::type);
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

}  // namespace mge::ops
