// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/nn/row_norm_rules.h"

namespace mge::ops {

struct LayerNormBackward;

// The statistics are f32 whatever the dtype of x, and have the shape of its leading axes.
struct LayerNorm : RowNorm<LayerNorm, LayerNormBackward> {
    static constexpr auto name = "layer_norm";
    static constexpr auto doc =
        "Subtracts the mean of the trailing axes and divides by their standard deviation; then scales by "
        "weight and adds bias, which have the shape of those axes.";
    struct Params {
        int axes = 1;
        double epsilon = 1e-5;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Number of trailing axes that are normalised together."),
                   field<&Params::epsilon>("epsilon", "Added to the variance."));

    static RowNormShapes shapes(std::string_view who, const TensorSpec& x, int axes);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LayerNorm, false> layer_norm{};

struct LayerNormBackward : RowNormBackward<LayerNormBackward, LayerNorm> {
    static constexpr auto name = "layer_norm_backward";
    static constexpr auto doc = "Gradients of layer_norm with respect to x, weight and bias.";
    struct Params {
        int axes = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Number of trailing axes that were normalised together."));

    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LayerNormBackward, false> layer_norm_backward{};

}  // namespace mge::ops
