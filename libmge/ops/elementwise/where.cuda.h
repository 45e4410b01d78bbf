// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

struct WhereArguments {
    const uint8_t* mask;  // tested as bytes
    const void *yes, *no;
    void* y;
    // Each operand runs along with y (step 1) or keeps its value (step 0); else the space says where they
    // lie.
    bool runs_along;
    int step[3];
    IndexSpace<3> space;  // of mask, yes and no
};
// Only bytes move: `size` is that of an element.
void where(Stream stream, int size, const WhereArguments& arguments);

}  // namespace mge::cuda
