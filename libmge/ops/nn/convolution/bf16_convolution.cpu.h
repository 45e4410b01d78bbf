// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of channels-last images (nhwc) of bf16 by matrix instructions
// (kernel/cpu/product/bf16_product.h). A row of the product is a pixel of y, whose window is read where it
// is: the pixels under a line of the window are contiguous. An image that needs a border is copied first.
// Where lines of y are so short that most of the matrices would be empty, the rows of all pixels are
// gathered, and those of several images if one has few. A plain image of a few colours is copied as pixels of
// four channels.
//
// The gradient of the image is such a convolution of dy. If windows step over pixels, it is one for each
// combination of pixels in a step, since each meets other elements of the window. An infinity in dy or in the
// weight also makes results NaN where it is multiplied by a zero of the border.

#include <cstddef>
#include <optional>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/product/bf16_pixels.h"
#include "libmge/kernel/cpu/product/bf16_product.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {

// A convolution whose results are some pixels of y.
struct Bf16Part {
    Pair taps;                 // elements of the window
    Pair first_tap, tap_step;  // the weight's element of the first one, and the distance to the next one's
    Pair at;                   // the first window in x with its border
    Pair out;                  // results
    Pair place, step;          // the pixel of y of the first result, and the distance to the next one's
};

struct Bf16Convolution {
    int64_t images, channels, columns;  // the channels of x, or of its copy, and of y
    int64_t colours;                    // the planes of a plain x; 0: x is channels-last
    Pair in, out;                       // pixels of x and of y
    Pair border, size;                  // zeros before x, and the size of x with its border
    Pair stride, dilation;
    // Distances of the weight's elements. Those of a window are contiguous.
    int64_t channel_stride, column_stride;
    Pair kernel;
    cpu::Bf16Finish finish;
    std::vector<Bf16Part> parts;
    int threads;
};

inline constexpr int64_t most_colours = cpu::joined_planes;
// `padding` on both sides. A plain x has at most most_colours channels.
Bf16Convolution forward_convolution(const ConvGeometry& geometry, bool is_plain);
// Returns nullopt if both dilation and stride exceed 1 along an axis.
std::optional<Bf16Convolution> data_gradient(const ConvGeometry& geometry);

// Refuses channels of which too few are multiplied at once.
Support suits_bf16(const Bf16Convolution& convolution);

// A convolution that is planned and can run.
class Bf16Windows {
public:
    explicit Bf16Windows(Bf16Convolution convolution);

    struct Operands {
        const uint16_t *x, *weight;
        DType bias_dtype;
        const void *bias, *residual;  // null: absent
        void* y;
    };
    DType y_dtype() const { return c_.finish.dtype; }
    int64_t weight_size() const { return weight_size_; }
    size_t workspace() const;
    // Packs a weight; must be done before run(), whose weight it is.
    void pack(const uint16_t* weight, uint16_t* to) const;
    void run(const Operands& operands, void* workspace) const;

private:
    struct Part {
        Bf16Part part;
        std::vector<int64_t> window;  // the lines of a window, or if pixels are dilated, each pixel
        int64_t window_part;          // its elements
        bool is_gathered;
        int64_t images;                          // that are multiplied at once
        std::vector<cpu::Bf16Product> products;  // for so many images, and for the rest
        int64_t weight_at;
        bool divides_images;  // among threads

        bool is_scattered() const { return part.step != Pair{1, 1}; }
        int64_t pixels() const { return part.out[0] * part.out[1]; }
    };
    Part plan(const Bf16Part& part, int64_t weight_at) const;
    cpu::Bf16Product product_of(const Part& part, int64_t images) const;
    void pack(const Part& part, const uint16_t* weight, uint16_t* to) const;
    // The images that are multiplied at once, from the first one on.
    struct Images {
        int64_t first, count;
        int threads;
        std::byte* memory;
    };
    void copy_line(const uint16_t* x, int64_t line, uint16_t* to) const;
    void copy_with_border(int threads, const uint16_t* x, uint16_t* to) const;
    void gather(int threads, const Part& part, const uint16_t* x, uint16_t* to) const;
    void scatter(const Part& part, const std::byte* rows, std::byte* y) const;
    void run(const Part& part, const Operands& operands, const float* bias, const Images& images) const;

    int64_t x_channels() const { return c_.colours ? c_.colours : c_.channels; }
    bool is_copied() const { return c_.colours || c_.size != c_.in; }
    size_t bias_bytes() const;
    size_t image_bytes() const;
    size_t gathered_bytes() const;
    size_t scattered_bytes() const;
    size_t images_bytes() const { return image_bytes() + gathered_bytes() + scattered_bytes(); }

    Bf16Convolution c_;
    std::vector<Part> parts_;
    int64_t weight_size_ = 0;
    bool has_gaps_;  // some pixels of y meet no element of the window
};

}  // namespace mge::ops
