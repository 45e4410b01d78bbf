// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Parts of the mask that a block goes over by itself.
int64_t mask_parts(int64_t n);
// How many elements of each part hold, then how many there are before it, and in the place behind the last
// part how many there are at all.
void count_held(Stream stream, const bool* mask, int64_t n, int64_t* before);
// The elements of x that hold, in their order, and their places.
void take_held(Stream stream, const bool* mask, int64_t n, const int64_t* before, size_t element,
               const void* x, void* values, int32_t* indices);

}  // namespace mge::cuda
