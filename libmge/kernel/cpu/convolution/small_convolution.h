// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/kernel/activation.h"

namespace mge::cpu {

// A convolution of one image with stride 1, for layers so small that a library's call and its reorders cost
// more than the work. The image is copied once with its padding; then output (row, column) reads x[row *
// pitch + column + offset of the window's element].
//
// With pixels in the lanes of vectors, rows and columns are one loop and every vector is full: the pitch -
// width columns between rows are computed and dropped. With channels in the lanes nothing is wasted if
// channels fill whole vectors, but weights must be packed, and results are transposed.
struct SmallConvolution {
    int64_t oc, ic, height, width;  // sizes of y
    int64_t in_height, in_width, pad_height, pad_width;
    int64_t kernel_height, kernel_width, dilation_height, dilation_width;

    int64_t pitch() const { return in_width + 2 * pad_width; }
    int64_t plane() const { return pitch() * (in_height + 2 * pad_height); }
    int64_t workspace_floats() const;  // for the copy of one image
};
struct SmallConvolutionData {
    const float *padded, *weight, *bias, *residual;
    float* y;
    Activation activation;  // identity, relu or relu_keeps_nan
};

// One implementation, compiled once per instruction set.
struct SmallConvolutionKernel {
    int64_t (*items)(const SmallConvolution&);    // independent parts of the work
    int64_t (*vectors)(const SmallConvolution&);  // number of sums to compute
    // Parts [first, last) of the work on a padded image.
    void (*compute)(const SmallConvolution&, const SmallConvolutionData&, int64_t first, int64_t last);
};
struct SmallConvolutionKernels {
    SmallConvolutionKernel pixels;    // weight: (oc, ic, kernel_height, kernel_width)
    SmallConvolutionKernel channels;  // weight: (blocks of oc, ic, kernel_height, kernel_width, lanes)
    int64_t lanes;
};

// For the best instruction set allowed by MGE_ISA.
const SmallConvolutionKernels& small_convolution_kernels();
void pad_image(const SmallConvolution& shape, const float* x, float* padded);

}  // namespace mge::cpu
