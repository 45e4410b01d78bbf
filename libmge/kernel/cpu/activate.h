// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// y = activation(y) with SIMD: for a part of a kernel's result while it is in the cache.
void activate(Activation activation, float* y, int64_t n);

}  // namespace mge::cpu
