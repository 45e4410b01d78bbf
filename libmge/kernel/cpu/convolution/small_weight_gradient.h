// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cpu/convolution/small_convolution.h"

namespace mge::cpu {

// The gradient of the weight of a small convolution, with the channels of y in the lanes of vectors: each
// element of the weight's window is the sum of the pixels of dy, vectors of channels, times numbers of x. The
// sums of some elements stay in registers while all pixels of an image pass by.
struct SmallWeightGradient {
    SmallConvolution image;  // the forward convolution

    int64_t elements() const { return image.ic * image.kernel_height * image.kernel_width; }
    int64_t lanes() const;      // of a block of channels of y
    int64_t channels() const;   // of y, in whole blocks
    int64_t dy_floats() const;  // of an image of dy as the sums want it
    int64_t sum_floats() const { return elements() * channels(); }
};

// How an image of dy lies: pixels of channels, or planes.
enum class PixelOrder { channels_last, planes };
// (pixel, channels in whole blocks), whatever order it comes in. What `packed` holds behind the channels may
// stay, so it has to be numbers.
void pack_small_gradient(const SmallWeightGradient& w, const float* dy, PixelOrder order, float* packed);
// An image with its padding around it, as pad_image makes it of planes.
void pad_pixels(const SmallConvolution& image, const float* x, float* padded);
// Adds what an image gives to the sums (block, element, lane).
void add_small_weight_gradient(const SmallWeightGradient& w, const float* padded, const float* packed,
                               float* sums);
// The weight's gradient (oc, element).
void unpack_small_weight(const SmallWeightGradient& w, const float* sums, float* dweight);

// What is compiled once per instruction set.
struct SmallWeightFunctions {
    int64_t lanes;
    void (*pack)(const SmallWeightGradient&, const float*, PixelOrder, float*);
    void (*add)(const SmallWeightGradient&, const float*, const float*, float*);
};

}  // namespace mge::cpu
