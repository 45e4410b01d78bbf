// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "libmge/tensor/spec.h"

namespace mge::ops {

// UserErrors unless the parameter is f32, `tensor` is f32 of the parameter's shape, `scalar` one f32 number.
void check_parameter(std::string_view op, const TensorSpec& parameter);
void check_like_parameter(std::string_view op, std::string_view input, const TensorSpec& tensor,
                          const TensorSpec& parameter);
void check_one_number(std::string_view op, std::string_view input, const TensorSpec& scalar);

}  // namespace mge::ops
