// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// Strides of the elements of an image, in floats: channel c of pixel (h, w) is at h * row + w * pixel + c /
// block * blocks + c % block.
struct ImageSteps {
    int64_t block, blocks, row, pixel;
};

// A transposed convolution with disjoint windows (the stride is the kernel's size): each pixel of x becomes a
// window of y that no other pixel reaches, so y is written once, by products with the parts of the weight.
// Channels of y in one vector are contiguous.
struct DisjointWindows {
    int64_t height, width, in_channels;  // sizes of x
    int64_t out_channels;                // channels of y, including the padding of its layout; a multiple of
                                         // the lanes
    int64_t kernel_height, kernel_width;
    ImageSteps x, y;

    int64_t packed_floats() const { return kernel_height * kernel_width * out_channels * in_channels; }
};

struct DisjointWindowKernels {
    // Number of channels in a vector, of which out_channels must be a multiple.
    int64_t (*lanes)();
    // The windows of rows [first, last) of x.
    void (*multiply)(const DisjointWindows& shape, const float* x, const float* packed, float* y,
                     int64_t first, int64_t last);
};

// For the best instruction set allowed by MGE_ISA.
const DisjointWindowKernels& disjoint_window_kernels();

// The weight (in_channels, channels, kernel_height, kernel_width) in the order of use; channels that only the
// layout of y has get zeros.
void pack_disjoint_windows(const DisjointWindows& shape, int64_t channels, const float* weight,
                           float* packed);

}  // namespace mge::cpu
