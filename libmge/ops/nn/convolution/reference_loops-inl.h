// SPDX-License-Identifier: Apache-2.0
#pragma once
// The loops of a convolution as it is defined, for kernels that are obvious and slow.

#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {

// Calls fn(x index, weight index) for all products that make one element of y.
template <class Fn>
void for_products(const ConvGeometry& g, int64_t n, int64_t group, int64_t oc, int64_t oh, int64_t ow,
                  Fn&& fn) {
    for (int64_t ic = 0; ic < g.ic; ++ic)
        for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < g.kernel[1]; ++kw) {
                int64_t h = oh * g.stride[0] - g.padding[0] + kh * g.dilation[0];
                int64_t w = ow * g.stride[1] - g.padding[1] + kw * g.dilation[1];
                if (h < 0 || h >= g.in[0] || w < 0 || w >= g.in[1]) continue;
                int64_t channel = group * g.ic + ic, filter = group * g.oc + oc;
                fn(((n * g.groups * g.ic + channel) * g.in[0] + h) * g.in[1] + w,
                   ((filter * g.ic + ic) * g.kernel[0] + kh) * g.kernel[1] + kw);
            }
}

// Calls fn(y index, channel, for_products of that element) in the order of memory.
template <class Fn>
void for_outputs(const ConvGeometry& g, Fn&& fn) {
    int64_t y = 0;
    for (int64_t n = 0; n < g.n; ++n)
        for (int64_t group = 0; group < g.groups; ++group)
            for (int64_t oc = 0; oc < g.oc; ++oc)
                for (int64_t oh = 0; oh < g.out[0]; ++oh)
                    for (int64_t ow = 0; ow < g.out[1]; ++ow, ++y)
                        fn(y, group * g.oc + oc,
                           [&](auto&& product) { for_products(g, n, group, oc, oh, ow, product); });
}

}  // namespace mge::ops
