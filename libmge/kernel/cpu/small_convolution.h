// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// A convolution of one image with stride 1, for layers so small that a library's call and its reorders cost
// more than the work. The image is copied once with its padding around it; after that output (row, column)
// reads x[row * pitch + column + offset of the window's element], so that rows and columns are one loop and
// every vector is full. The pitch - width columns that lie between rows are computed and dropped.
struct SmallConvolution {
    int64_t oc, ic, height, width;  // of y
    int64_t in_height, in_width, pad_height, pad_width;
    int64_t kernel_height, kernel_width, dilation_height, dilation_width;

    int64_t pitch() const { return in_width + 2 * pad_width; }
    int64_t plane() const { return pitch() * (in_height + 2 * pad_height); }
    int64_t workspace_floats() const;  // for the copy of one image
    int64_t items() const;             // independent parts of the work
};
struct SmallConvolutionData {
    const float *padded, *weight, *bias, *residual;
    float* y;
    bool relu;
};

// What is compiled once per instruction set.
struct SmallConvolutionFunctions {
    int64_t (*count_items)(const SmallConvolution&);
    void (*compute_items)(const SmallConvolution&, const SmallConvolutionData&, int64_t, int64_t);
};

void pad_image(const SmallConvolution& shape, const float* x, float* padded);
// Parts [first, last) of the work on a padded image.
void small_convolution(const SmallConvolution& shape, const SmallConvolutionData& data, int64_t first,
                       int64_t last);

}  // namespace mge::cpu
