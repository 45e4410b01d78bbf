// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct Drop {
    const int32_t* state;
    unsigned random_stream;
    int64_t count;
    uint64_t dropped;  // so many of the 2^32 words drop the element
    float scale;
};
// `type`: of floats only.
void drop(Stream stream, int type, const Drop& drop, const void* x, void* y, void* mask);

}  // namespace mge::cuda
