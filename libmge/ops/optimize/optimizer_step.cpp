// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/optimize/optimizer_step.h"

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

TensorSpecs infer_step_with_state(std::string_view op, std::span<const InputInfo> inputs, Specs in) {
    const size_t count = in.size() - 2, size = in.size() - 1;
    check_parameter(op, in[0]);
    for (size_t i = 1; i < count; ++i) check_like_parameter(op, inputs[i].name, in[i], in[0]);
    for (size_t i : {count, size}) check_one_number(op, inputs[i].name, in[i]);
    TensorSpecs out(in.begin() + 1, in.end() - 1);
    out[0] = in[0];
    return out;
}

}  // namespace mge::ops
