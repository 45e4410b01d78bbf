// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

#include "libmge/tensor/spec.h"

namespace mge::ops {

using Pair = std::array<int64_t, 2>;  // rows, columns

// A window sliding over images; pixels outside are ignored.
struct PoolGeometry {
    int64_t images = 0, channels = 0;
    Pair in{}, out{}, kernel{}, stride{}, padding{};
    // A mean divides by the size of the window even where it reaches over the border.
    bool count_include_pad = false;

    Shape y_shape() const { return {images, channels, out[0], out[1]}; }
};

inline double window_area(Pair kernel) { return double(kernel[0]) * double(kernel[1]); }

// The shape of the result, for symbolic shapes too. UserError of `who` when x is no batch of images, or the
// window does not fit.
MGE_API Shape pool_shape(std::string_view who, const Shape& x, Pair kernel, Pair stride, Pair padding);
MGE_API Shape adaptive_pool_shape(std::string_view who, const Shape& x, Pair out);

// The same for numbers.
MGE_API PoolGeometry pool_geometry(std::string_view who, const Shape& x, Pair kernel, Pair stride,
                                   Pair padding);

// The window that adaptive pooling lays over x to get `out` results: they step by ⌊in / out⌋, and the window
// is as large as the last one can be.
MGE_API PoolGeometry adaptive_pool_geometry(std::string_view who, const Shape& x, Pair out);

// UserError unless the input of this name has the shape that is expected.
MGE_API void check_pool_input(std::string_view who, std::string_view input, const TensorSpec& spec,
                              const TensorSpec& expected);
// UserError unless x is floating.
MGE_API void check_pool_dtype(std::string_view who, const TensorSpec& x);

}  // namespace mge::ops
