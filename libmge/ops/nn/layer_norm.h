// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// The statistics are f32 whatever the dtype of x, and have the shape of its leading axes.
struct LayerNorm {
    static constexpr auto name = "layer_norm";
    static constexpr auto doc =
        "Subtracts the mean of the trailing axes and divides by their standard deviation; then scales by "
        "weight and adds bias, which have the shape of those axes.";
    static constexpr auto inputs = names("x", optional("weight"), optional("bias"));
    static constexpr auto outputs = output_names("y", "mean", "inv_std");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    struct Params {
        int axes = 1;
        double epsilon = 1e-5;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Number of trailing axes that are normalised together."),
                   field<&Params::epsilon>("epsilon", "Added to the variance."));
    // Mean, variance, difference, scale, weight and bias: as MegEngine's module statistics count them.
    static constexpr PerInputElement operations{7};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LayerNorm, false> layer_norm{};

struct LayerNormBackward {
    static constexpr auto name = "layer_norm_backward";
    static constexpr auto doc = "Gradients of layer_norm with respect to x, weight and bias.";
    static constexpr bool only_trains = true;
    // dmean, dinv_std: gradients of the statistics themselves, if they are used.
    static constexpr auto inputs =
        names("x", "dy", unpromoted("mean"), unpromoted("inv_std"), optional("weight"),
              InputInfo("dmean", InputKind::optional, false, false),
              InputInfo("dinv_std", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dx", "dweight", "dbias");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    struct Params {
        int axes = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Number of trailing axes that were normalised together."));
    static constexpr PerInputElement operations{7};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LayerNormBackward, false> layer_norm_backward{};

}  // namespace mge::ops
