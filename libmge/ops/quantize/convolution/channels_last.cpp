// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/channels_last.h"

#include "libmge/ops/quantize/convolution/quantized_conv2d.h"

namespace mge::ops {

using Conv = QuantizedConv2d;

ConvGeometry quantised_geometry(const Problem& problem) {
    return conv_geometry(Conv::name, window_of(problem.as<Conv::Params>()), problem.inputs[Conv::x].shape,
                         problem.inputs[Conv::weight].shape);
}

bool is_product(const ConvGeometry& g) {
    constexpr Pair none{0, 0}, one{1, 1};
    return g.groups == 1 && g.in == one && g.out == one && g.kernel == one && g.padding == none;
}

Support channels_last_images(const Problem& problem) {
    auto &x = problem.inputs[Conv::x], &y = problem.outputs[0];
    const Layout layout = y.layout;
    bool is_plain_product = layout.is_plain() && is_product(quantised_geometry(problem));
    if (!(layout == Layout::named("nhwc")) && !is_plain_product) return {"images in the layout nhwc only"};
    if (!(x.layout == layout)) return {"x and y must have the same layout"};
    for (size_t i = 1; i < problem.inputs.size(); ++i) {
        bool is_image = i == Conv::residual && problem.has_input(i);
        if (!(problem.inputs[i].layout == (is_image ? layout : Layout())))
            return {"a residual as the result, other operands plain only"};
    }
    if (x.numel() == 0 || y.numel() == 0) return {"an empty image"};
    if (problem.inputs[Conv::weight].dtype != DType::i8 || problem.has_input(Conv::weight_zero))
        return {"a weight of int8 without a zero point only"};
    return problem.is_constant(Conv::weight) ? supported : Support{"a weight that never changes only"};
}

}  // namespace mge::ops
