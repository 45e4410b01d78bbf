// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::ops {

// A convolution as y[n][g][oc][oh][ow] += x[n][g][ic][h][w] * weight[g][oc][ic][kh][kw]; oc and ic count
// within a group.
struct ConvGeometry {
    int64_t n = 0, groups = 1, oc = 0, ic = 0;
    Pair in{}, out{}, kernel{}, stride{}, padding{}, dilation{};

    Shape x_shape() const { return {n, groups * ic, in[0], in[1]}; }
    Shape y_shape() const { return {n, groups * oc, out[0], out[1]}; }
    int64_t multiplications() const { return n * groups * oc * out[0] * out[1] * ic * kernel[0] * kernel[1]; }
};

// Common part of the three operators; UserError of `who` if the arguments do not fit.
struct ConvWindow {
    Pair stride, padding, dilation;
    int64_t groups;
};
template <class Params>
ConvWindow window_of(const Params& p) {
    return {p.stride, p.padding, p.dilation, p.groups};
}
// The shape of the result, for symbolic shapes too.
MGE_API Shape conv_shape(std::string_view who, const ConvWindow& window, const Shape& x, const Shape& weight);
MGE_API ConvGeometry conv_geometry(std::string_view who, const ConvWindow& window, const Shape& x,
                                   const Shape& weight);

// Whether a window of the result is on padding alone.
MGE_API bool has_empty_window(const ConvGeometry& geometry);

// From the specs of any of the three operators' problems.
MGE_API ConvGeometry forward_geometry(const Problem& problem);
MGE_API ConvGeometry backward_data_geometry(const Problem& problem);
MGE_API ConvGeometry backward_weight_geometry(const Problem& problem);

}  // namespace mge::ops
