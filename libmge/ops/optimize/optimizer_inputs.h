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

// The shape rule of steps that go by two moments of gradients: of the parameter, its gradient, the moments,
// the count of steps and their size.
TensorSpecs specs_with_moments(std::string_view op, Specs in);

}  // namespace mge::ops
