// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Replaces each of n counts by the sum of those before it, and writes the total after the last one.
void add_up(Stream stream, int64_t n, int64_t* counts);

}  // namespace mge::cuda
