// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/device_extents.cuda.h"

#include <algorithm>

namespace mge::ops {

Support fits_device_text(const ConvGeometry& g) {
    constexpr int64_t most = int64_t(1) << 30;
    constexpr Support too_large{"images or windows of more than 2^30 elements"};
    for (size_t i : {0, 1})
        if (g.in[i] + 2 * g.padding[i] + g.stride[i] > most) return too_large;
    int64_t window = std::max(g.ic, g.oc) * g.kernel[0] * g.kernel[1];
    return std::max({g.in[0] * g.in[1], g.out[0] * g.out[1], window}) <= most ? supported : too_large;
}

cuda::ConvExtents device_extents(const ConvGeometry& g, ImageOrder order) {
    cuda::ConvExtents c{};
    c.images = g.n;
    c.groups = g.groups;
    c.oc = g.oc;
    c.ic = g.ic;
    auto divisor = [](int64_t n) { return cuda::divisor_of(std::max<int64_t>(n, 1)); };
    for (size_t i : {0, 1}) {
        c.in[i] = int(g.in[i]);
        c.out[i] = int(g.out[i]);
        c.kernel[i] = int(g.kernel[i]);
        c.stride[i] = int(g.stride[i]);
        c.padding[i] = int(g.padding[i]);
        c.dilation[i] = int(g.dilation[i]);
        c.by_stride[i] = divisor(g.stride[i]);
    }
    auto steps = [&](int64_t channels, const Pair& size) {
        return order == ImageOrder::plain ? cuda::ImageSteps{size[0] * size[1], 1}
                                          : cuda::ImageSteps{1, channels};
    };
    c.in_steps = steps(g.groups * g.ic, g.in);
    c.out_steps = steps(g.groups * g.oc, g.out);
    c.in_size = divisor(g.in[0] * g.in[1]);
    c.in_columns = divisor(g.in[1]);
    c.out_size = divisor(g.out[0] * g.out[1]);
    c.out_columns = divisor(g.out[1]);
    c.kernel_size = divisor(g.kernel[0] * g.kernel[1]);
    c.kernel_columns = divisor(g.kernel[1]);
    return c;
}

}  // namespace mge::ops
