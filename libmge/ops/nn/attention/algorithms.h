// SPDX-License-Identifier: Apache-2.0
#pragma once
// The algorithms of attention that have a source of their own.

#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Packing keys and values pays where more queries read them.
inline constexpr int64_t few_queries = 3;

// Half precision in f32, one head after the other, so that no operand is widened as a whole.
Algorithm half_attention();

}  // namespace mge::ops
