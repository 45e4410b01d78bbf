// SPDX-License-Identifier: Apache-2.0
#pragma once
// Image transforms with the results of torchvision on PIL images. Images are uint8 (1, height,
// width, channels).

#include "libmge/tensor/tensor.h"

namespace mge::dump {

struct PixelSize {
    int64_t height = 0, width = 0;
};

// The size of an image whose shorter side becomes `shorter`; the other one keeps the aspect, rounded down.
PixelSize size_with_shorter_side(PixelSize size, int64_t shorter);

// Resizes by Pillow's antialiased bilinear filter: a triangle that grows with the scale, with weights of 22
// bits, first along rows, then along columns, each rounded to eight bits. Pillow 13 begins with the columns
// if an image loses more than twice as many rows as columns, which changes single bits.
Tensor resize_bilinear(const Tensor& image, PixelSize size);

// Cuts out the centre. Smaller images get black borders.
Tensor crop_center(const Tensor& image, PixelSize size);

}  // namespace mge::dump
