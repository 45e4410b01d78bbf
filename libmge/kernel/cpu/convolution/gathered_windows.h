// SPDX-License-Identifier: Apache-2.0
#pragma once
// What windows of an image see, as an image of their own with a pixel for each window and a channel for each
// element: a convolution is a product of such pixels with its weights (pointwise.h). x lies in blocks of
// channels that are full, the result too; its channels are (input channel, row, column of the window), the
// order in which weights have them.

#include <array>
#include <cstdint>

namespace mge::cpu {

struct GatheredWindows {
    int64_t ic;
    std::array<int64_t, 2> in, out, kernel, stride, padding, dilation;

    int64_t elements() const { return kernel[0] * kernel[1]; }  // of a window and input channel
};

// Blocks of input channels [first, last).
void gather_windows(const GatheredWindows& shape, const float* x, float* y, int64_t first, int64_t last);

// What is compiled once per instruction set.
using GatherWindows = void (*)(const GatheredWindows&, const float*, float*, int64_t, int64_t);

}  // namespace mge::cpu
