// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/tensor/dtype.h"

namespace mge {

// A number as an element of the dtype, lowest byte first: integers are truncated and wrap around; numbers
// beyond 64 bits become the smallest 64-bit integer first; nonzero numbers are true.
MGE_API uint64_t element_bytes(DType dtype, double value);

}  // namespace mge
