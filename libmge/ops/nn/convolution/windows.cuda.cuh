// SPDX-License-Identifier: Apache-2.0
#pragma once
// How convolutions find the elements of windows in images.

#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/scalar.cuh"
#include "libmge/ops/nn/convolution/conv_extents.cuda.h"

namespace mge::cuda {

// Rows and columns of one image, and where it begins.
struct Pixel {
    int64_t offset;
    int at[2];
};

// The pixel of y with this number among those of all images; the offset is that of its image.
MGE_DEVICE Pixel output_pixel(const ConvExtents& c, int64_t number, int64_t image_size) {
    int64_t image = long_quotient(number, c.out_size);
    int64_t rest = number - image * c.out_size.value;
    int64_t row = long_quotient(rest, c.out_columns);
    return {image * image_size, {int(row), int(rest - row * c.out_columns.value)}};
}

// An element of the kernel with its channel: (channel, kh, kw) in the order of memory. The offset is the
// channel's number.
MGE_DEVICE Pixel window_element(const ConvExtents& c, int number) {
    int channel = quotient(number, c.kernel_size);
    int rest = number - channel * int(c.kernel_size.value);
    int row = quotient(rest, c.kernel_columns);
    return {channel, {row, rest - row * int(c.kernel_columns.value)}};
}

// The windows of x: by pixel of y and element of the window.
template <class T>
struct Windows {
    const T* x;  // that of the group
    ConvExtents c;

    // The start of a window in x, which may be outside of the image.
    MGE_DEVICE Pixel begin(int64_t pixel) const {
        int64_t image_size = c.groups * c.ic * c.in[0] * c.in[1];
        Pixel p = output_pixel(c, pixel, image_size);
#pragma unroll
        for (int i = 0; i < 2; ++i) p.at[i] = p.at[i] * c.stride[i] - c.padding[i];
        p.offset += (int64_t(p.at[0]) * c.in[1] + p.at[1]) * c.in_steps.pixel;
        return p;
    }
    // The offset of an element from there.
    MGE_DEVICE Pixel step(int64_t element) const {
        Pixel p = window_element(c, int(element));
#pragma unroll
        for (int i = 0; i < 2; ++i) p.at[i] *= c.dilation[i];
        p.offset = p.offset * c.in_steps.channel + (int64_t(p.at[0]) * c.in[1] + p.at[1]) * c.in_steps.pixel;
        return p;
    }
    MGE_DEVICE bool is_inside(const Pixel& begin, const Pixel& step) const {
        return unsigned(begin.at[0] + step.at[0]) < unsigned(c.in[0]) &&
               unsigned(begin.at[1] + step.at[1]) < unsigned(c.in[1]);
    }
    MGE_DEVICE float at(const Pixel& begin, const Pixel& step) const {
        return is_inside(begin, step) ? widen(x[begin.offset + step.offset]) : 0;
    }
};

template <class T>
struct WindowsByPixel : Windows<T> {
    using Row = Pixel;
    using Column = Pixel;
    MGE_DEVICE bool runs_along_k() const { return false; }
    MGE_DEVICE Row row(int64_t pixel) const { return this->begin(pixel); }
    MGE_DEVICE Column column(int64_t element) const { return this->step(element); }
    MGE_DEVICE float value(const Row& row, const Column& column) const { return this->at(row, column); }
};

// The offset of a pixel of all images, in images of so many channels: its first channel's element.
MGE_DEVICE int64_t pixel_offset(int64_t pixel, Divisor size, int64_t channels, ImageSteps steps) {
    int64_t image = long_quotient(pixel, size), within = pixel - image * size.value;
    return image * channels * size.value + within * steps.pixel;
}
// The position of an element of y: a channel within a group, and a pixel of all images.
struct OutputPlace {
    int64_t channel, offset;
};
MGE_DEVICE OutputPlace output_place(const ConvExtents& c, int64_t group, int64_t row, int64_t pixel) {
    int64_t channel = group * c.oc + row;
    return {channel,
            pixel_offset(pixel, c.out_size, c.groups * c.oc, c.out_steps) + channel * c.out_steps.channel};
}

}  // namespace mge::cuda
