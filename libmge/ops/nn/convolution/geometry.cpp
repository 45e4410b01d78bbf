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
            throw_user(who, text("stride and dilation have to be at least 1, got ", w.stride[i], " and ",
                                 w.dilation[i]));
        if (w.padding[i] < 0) throw_user(who, text("padding has to be at least 0, got ", w.padding[i]));
    }
    if (w.groups < 1) throw_user(who, text("groups has to be at least 1, got ", w.groups));
}

void read_weight(std::string_view who, const ConvWindow& window, const Shape& weight, ConvGeometry& g) {
    bool grouped = weight.rank() == 5;
    if (!grouped && (weight.rank() != 4 || window.groups != 1))
        throw_user(who, window.groups == 1
                            ? text("the weight has to have the shape (OC, IC, kh, kw), got ", weight)
                            : text("with ", window.groups,
                                   " groups the weight has to have the shape (G, OC/G, IC/G, kh, kw), got ",
                                   weight));
    if (grouped && weight[0] != window.groups)
        throw_user(who, text("the weight's shape ", weight, " has ", weight[0],
                             " groups, the parameter says ", window.groups));
    g.groups = window.groups;
    g.oc = weight[grouped];
    g.ic = weight[grouped + 1];
    g.kernel = {weight[grouped + 2], weight[grouped + 3]};
}

}  // namespace

ConvGeometry conv_geometry(std::string_view who, const ConvWindow& window, const Shape& x,
                           const Shape& weight) {
    check_window(who, window);
    if (x.rank() != 4) throw_user(who, text("the input has to have the shape (N, C, H, W), got ", x));
    ConvGeometry g;
    read_weight(who, window, weight, g);
    if (x[1] != g.groups * g.ic)
        throw_user(who, text("the input ", x, " has ", counted(x[1], "channel"), ", the weight ", weight,
                             " takes ", g.groups * g.ic));
    g.n = x[0];
    g.in = {x[2], x[3]};
    g.stride = window.stride;
    g.padding = window.padding;
    g.dilation = window.dilation;
    for (int i : {0, 1}) {
        if (std::max({g.stride[i], g.padding[i], g.dilation[i], g.kernel[i], g.in[i]}) > largest_extent)
            throw_user(who, text("extents, stride, padding and dilation may be at most ", largest_extent));
        int64_t reach = g.dilation[i] * (g.kernel[i] - 1) + 1, available = g.in[i] + 2 * g.padding[i];
        if (g.kernel[i] < 1 || available < reach)
            throw_user(who, text("the window reaches over ", counted(reach, i ? "column" : "row"),
                                 ", the padded input has ", available));
        g.out[i] = (available - reach) / g.stride[i] + 1;
    }
    return g;
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
