// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

// In the order of ops::PadMode.
enum class Margin : int { constant, reflect, replicate };

struct PadArguments {
    Margin margin;
    // Innermost first, with the strides of the inner tensor: of the padded tensor's elements, or for the
    // gradient of the inner tensor's.
    IndexSpace<1> space;
    int64_t before[max_axes], inner[max_axes], padded[max_axes];
    int64_t padded_stride[max_axes];
    uint64_t element;  // the constant's bytes, the first lowest
};

void pad(Stream stream, int size, const void* x, void* y, const PadArguments& arguments);
// `type`: of numbers only.
void pad_backward(Stream stream, int type, const void* dy, void* dx, const PadArguments& arguments);

}  // namespace mge::cuda
