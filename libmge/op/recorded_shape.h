// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/tensor/tensor.h"

namespace mge {

// Returns the shape that a tensor had when the function traced on this thread was recorded, or its own shape
// outside of a trace. Code that selects operators by shape must use it, because later calls must apply the
// recorded operators. Defined by eager/trace.cpp, a higher layer.
MGE_API Shape recorded_shape(const Tensor& x);

}  // namespace mge
