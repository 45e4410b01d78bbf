// SPDX-License-Identifier: Apache-2.0
#pragma once
// im2col in blocks of channels: an image with a pixel for each window and a channel for each element, so that
// a convolution is a product of such pixels with its weights (pointwise.h). x and the result are in full
// blocks of channels; the result's channels are (input channel, row, column of the window), the order of the
// weights.

#include <array>
#include <cstdint>

namespace mge::cpu {

struct GatheredWindows {
    int64_t ic;
    std::array<int64_t, 2> in, out, kernel, stride, padding, dilation;
    int64_t first_row = 0, rows = out[0];  // lines of windows that are gathered

    int64_t elements() const { return kernel[0] * kernel[1]; }  // in a window of an input channel
    int64_t pixels() const { return rows * out[1]; }
};

// Blocks of input channels [first, last).
void gather_windows(const GatheredWindows& shape, const float* x, float* y, int64_t first, int64_t last);

// The same from a plain image of any number of channels, for blocks [first, last) of the result's channels.
// `block` of them, a multiple of 8, are side by side; the last one is filled with zeros.
void gather_plain_windows(const GatheredWindows& shape, int64_t block, const float* x, float* y,
                          int64_t first, int64_t last);

// Function compiled once per instruction set.
using GatherWindows = void (*)(const GatheredWindows&, const float*, float*, int64_t, int64_t);

}  // namespace mge::cpu
