// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

struct WhereArguments {
    const uint8_t* mask;  // tested as bytes
    const void *yes, *no;
    void* y;
    // Each operand advances with y (step 1) or is constant (step 0); otherwise the space gives the offsets.
    bool runs_along;
    int step[3];
    IndexSpace<3> space;  // offsets of mask, yes and no
};
// Only bytes move: `size` is that of an element.
void where(Stream stream, int size, const WhereArguments& arguments);

}  // namespace mge::cuda
