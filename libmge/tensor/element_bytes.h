// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/tensor/dtype.h"

namespace mge {

// A number as an element of the dtype, the first byte lowest: integers lose the fraction and wrap around
// those of 64 bits, of which the smallest one stands for what is beyond them all; everything but 0 is true.
MGE_API uint64_t element_bytes(DType dtype, double value);

}  // namespace mge
