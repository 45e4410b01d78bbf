// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// Where the elements of an image are, in floats: channel c of pixel (h, w) is at
// h * row + w * pixel + c / block * blocks + c % block.
struct ImageSteps {
    int64_t block, blocks, row, pixel;
};

// A transposed convolution whose windows lie side by side (the stride is the kernel's size): each pixel of x
// becomes a window of y that no other pixel reaches, so y is written once, by products with the parts of the
// weight. Channels of y that belong to one vector lie side by side.
struct ApartWindows {
    int64_t height, width, in_channels;  // of x
    int64_t out_channels;                // of y, padding of its layout included; a multiple of the lanes
    int64_t kernel_height, kernel_width;
    ImageSteps x, y;

    int64_t packed_floats() const { return kernel_height * kernel_width * out_channels * in_channels; }
};

struct ApartWindowKernels {
    // Channels that a vector holds: what out_channels has to be a multiple of.
    int64_t (*lanes)();
    // The windows of rows [first, last) of x.
    void (*multiply)(const ApartWindows& shape, const float* x, const float* packed, float* y, int64_t first,
                     int64_t last);
};

// For the best instruction set that MGE_ISA allows.
const ApartWindowKernels& apart_window_kernels();

// The weight (in_channels, channels, kernel_height, kernel_width) in the order of use; channels that only the
// layout of y has get zeros.
void pack_apart_windows(const ApartWindows& shape, int64_t channels, const float* weight, float* packed);

}  // namespace mge::cpu
