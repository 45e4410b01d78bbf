// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cpu/convolution/small_convolution.h"

namespace mge::cpu {

// The gradient of the weight of a small convolution, with the channels of y in the lanes of vectors: each
// element of the weight's window is the sum over the pixels of dy (vectors of channels) times numbers of x.
// The sums of some elements stay in registers during a pass over an image.
struct SmallWeightGradient {
    SmallConvolution image;  // the forward convolution

    int64_t elements() const { return image.ic * image.kernel_height * image.kernel_width; }
    int64_t lanes() const;      // lanes of a block of channels of y
    int64_t channels() const;   // channels of y, in whole blocks
    int64_t dy_floats() const;  // floats of a packed image of dy
    int64_t sum_floats() const { return elements() * channels(); }
};

// Order of an image of dy: pixels of channels, or planes.
enum class PixelOrder { channels_last, planes };
// (pixel, channels in whole blocks), for any order of dy. The padding of `packed` after the channels is not
// cleared, so it must contain numbers.
void pack_small_gradient(const SmallWeightGradient& w, const float* dy, PixelOrder order, float* packed);
// An image with its padding around it, as pad_image makes it of planes.
void pad_pixels(const SmallConvolution& image, const float* x, float* padded);
// Adds an image's contribution to the sums (block, element, lane).
void add_small_weight_gradient(const SmallWeightGradient& w, const float* padded, const float* packed,
                               float* sums);
// The weight's gradient (oc, element).
void unpack_small_weight(const SmallWeightGradient& w, const float* sums, float* dweight);

// Functions compiled once per instruction set.
struct SmallWeightFunctions {
    int64_t lanes;
    void (*pack)(const SmallWeightGradient&, const float*, PixelOrder, float*);
    void (*add)(const SmallWeightGradient&, const float*, const float*, float*);
};

}  // namespace mge::cpu
