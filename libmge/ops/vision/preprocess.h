// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Preprocess {
    static constexpr auto name = "preprocess";
    static constexpr auto doc =
        "Converts images of bytes to normalised float32 images: y[n, c, h, w] = (x[n, h, w, c] - mean[c]) "
        "* scale[c]. Mean and scale are vectors. If they have more elements than x has channels, x is 0 in "
        "the further channels.";
    static constexpr auto inputs =
        names(InputInfo("x", InputKind::required, false, false), unpromoted("mean"), unpromoted("scale"));
    static constexpr bool stops_gradient = true;
    struct Params {
        bool channels_last = true;
    };
    static constexpr auto fields = field_list(field<&Params::channels_last>(
        "channels_last", "x is (N, H, W, C), otherwise (N, C, H, W). The result is always (N, C, H, W)."));
    // Difference and product.
    static constexpr PerOutputElement operations{2};
    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Preprocess> preprocess{};

}  // namespace mge::ops
