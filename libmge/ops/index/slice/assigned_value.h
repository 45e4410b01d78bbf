// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rules for the value in x[places] = value, shared by all operators that assign.

#include <string_view>

#include "libmge/tensor/tensor.h"

namespace mge::ops {

// The shape of the value without surplus leading axes of extent 1, which numpy allows. UserError (class
// ValueError) when it does not broadcast to the places it is assigned to.
MGE_API Shape check_value_shape(std::string_view who, const Shape& value, const Shape& places);

// The gradient of the value, from the gradients read at the places it was assigned to.
Tensor sum_to_value(const Tensor& read, const Tensor& value);

}  // namespace mge::ops
