// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a fused kernel, whose text is made while the program runs, is started with.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

inline constexpr int max_fused_inputs = 16;

struct FusedArguments {
    const void* in[max_fused_inputs];
    void* out;
    int64_t numel;
    int64_t packs;  // of elements that are loaded at once; 0 where addresses do not allow it
    int loops;      // of the result; outermost first
    int64_t extent[max_axes];
    int64_t stride[max_fused_inputs][max_axes];  // in elements; of inputs that do not run along
};

}  // namespace mge::cuda
