// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/geometry.h"

#include <algorithm>
#include <cstdint>

#include "libmge/base/number_text.h"

namespace mge::ops {
namespace {

// No window is larger: below it, sums and products of extents fit in 63 bits.
constexpr int64_t largest_extent = INT32_MAX;

void check_window(std::string_view who, const ConvWindow& w) {
    for (int i : {0, 1}) {
        if (w.stride[i] < 1 || w.dilation[i] < 1)
            throw_user(who, text("stride and dilation must be at least 1, got ", w.stride[i], " and ",
                                 w.dilation[i]));
        if (w.padding[i] < 0) throw_user(who, text("padding must be at least 0, got ", w.padding[i]));
    }
    if (w.groups < 1) throw_user(who, text("groups must be at least 1, got ", w.groups));
}

void check_weight(std::string_view who, const ConvWindow& window, const Shape& weight) {
    bool grouped = weight.rank() == 5;
    if (!grouped && (weight.rank() != 4 || window.groups != 1))
        throw_user(
            who, window.groups == 1
                     ? text("the weight must have the shape (OC, IC, kh, kw), got ", weight)
                     : text("with ", window.groups,
                            " groups the weight must have the shape (G, OC/G, IC/G, kh, kw), got ", weight));
    if (grouped && !can_be_equal(who, weight.extent(0), window.groups))
        throw_user(who, text("the weight's shape ", weight, " has ", weight.extent(0),
                             " groups, but the parameter groups is ", window.groups));
}

std::string counted_extent(const Extent& n, std::string_view what) {
    return n.is_number() ? counted(n.number(), what) : text(n, ' ', what, 's');
}

}  // namespace

Shape conv_shape(std::string_view who, const ConvWindow& window, const Shape& x, const Shape& weight) {
    check_window(who, window);
    if (x.rank() != 4) throw_user(who, text("the input must have the shape (N, C, H, W), got ", x));
    check_weight(who, window, weight);
    int axis = weight.rank() - 4;
    Extent channels = weight.extent(axis + 1) * window.groups;
    if (!can_be_equal(who, x.extent(1), channels))
        throw_user(who, text("the input ", x, " has ", counted_extent(x.extent(1), "channel"),
                             ", the weight ", weight, " takes ", channels));
    Shape y = x;
    y.set(1, weight.extent(axis) * window.groups);
    for (int i : {0, 1}) {
        Extent in = x.extent(2 + i), kernel = weight.extent(axis + 2 + i);
        int64_t stride = window.stride[i], padding = window.padding[i], dilation = window.dilation[i];
        if (std::max({stride, padding, dilation, kernel.lower(), in.lower()}) > largest_extent)
            throw_user(who, text("sizes, stride, padding and dilation may be at most ", largest_extent));
        Extent reach = (kernel - 1) * dilation + 1, available = in + 2 * padding;
        if (!can_be_at_least(who, kernel, 1) || !can_be_at_least(who, available, reach))
            throw_user(who, text("the window covers ", counted_extent(reach, i ? "column" : "row"),
                                 ", but the padded input has ", available));
        y.set(2 + i, floor_div(available - reach, stride) + 1);
    }
    return y;
}

ConvGeometry conv_geometry(std::string_view who, const ConvWindow& window, const Shape& x,
                           const Shape& weight) {
    Shape y = conv_shape(who, window, x, weight);
    int axis = weight.rank() - 4;
    ConvGeometry g;
    g.n = x[0];
    g.groups = window.groups;
    g.oc = weight[axis];
    g.ic = weight[axis + 1];
    g.kernel = {weight[axis + 2], weight[axis + 3]};
    g.in = {x[2], x[3]};
    g.stride = window.stride;
    g.padding = window.padding;
    g.dilation = window.dilation;
    g.out = {y[2], y[3]};
    return g;
}

bool has_empty_window(const ConvGeometry& g) {
    for (size_t axis : {0, 1}) {
        auto begin = [&](int64_t window) { return window * g.stride[axis] - g.padding[axis]; };
        if (begin(g.out[axis] - 1) >= g.in[axis]) return true;
        // A window that begins on the padding: the first of its elements past the padding. The number of
        // those before it falls from window to window, and its place repeats after `dilation` windows.
        int64_t dilation = g.dilation[axis];
        for (int64_t o = 0; o < std::min(g.out[axis], dilation) && begin(o) < 0; ++o) {
            int64_t k = (dilation - 1 - begin(o)) / dilation;
            if (k >= g.kernel[axis] || begin(o) + k * dilation >= g.in[axis]) return true;
        }
    }
    return false;
}

ConvGeometry forward_geometry(const Problem& p) {
    return conv_geometry(p.op, window_of(p.as<Conv2d::Params>()), p.inputs[0].shape, p.inputs[1].shape);
}
ConvGeometry backward_data_geometry(const Problem& p) {
    return conv_geometry(p.op, window_of(p.as<Conv2dBackwardData::Params>()), p.outputs[0].shape,
                         p.inputs[0].shape);
}
ConvGeometry backward_weight_geometry(const Problem& p) {
    return conv_geometry(p.op, window_of(p.as<Conv2dBackwardWeight::Params>()), p.inputs[0].shape,
                         p.outputs[0].shape);
}

}  // namespace mge::ops
