// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/autocast.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// Scale, bias and all statistics are f32 with one element per channel, whatever their shape and the dtype of
// x. Gradients go through y and the saved statistics; the running ones are state, not results.
struct BatchNorm {
    static constexpr auto name = "batch_norm";
    static constexpr auto doc =
        "Normalises each channel (axis 1) of x to mean 0 and variance 1 over all samples and pixels, then "
        "scales and shifts it. In training it uses the statistics of x and updates the running ones (with "
        "the variance divided by n - 1). Otherwise it uses the running statistics.";
    static constexpr auto inputs = names("x", unpromoted("scale"), unpromoted("bias"),
                                         unpromoted("running_mean"), unpromoted("running_var"));
    static constexpr auto outputs = output_names("y", "new_mean", "new_var", "saved_mean", "saved_inv_std");
    static constexpr OpTraits traits{.promotion = Promotion::floating, .once = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0}, InPlace{1, 3}, InPlace{2, 4});
    struct Params {
        bool training = true;
        double momentum = 0.9;
        double epsilon = 1e-5;
    };
    static constexpr auto fields = field_list(
        field<&Params::training>("training", "Use the statistics of x and update the running ones."),
        field<&Params::momentum>("momentum", "Weight of the old running statistics in the new ones."),
        field<&Params::epsilon>("epsilon", "Added to the variance."));
    // Mean, variance, difference, scale, weight and bias: as MegEngine's module statistics count them.
    static constexpr PerInputElement operations{7};
    // Images only: the statistics are f32 in any case.
    static constexpr CastAlways cast_to{CastTo::low};
    // The statistics stay plain, whatever their shape.
    static constexpr ImageLayouts layouts{.inputs = 0b1, .outputs = 0b1};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BatchNorm, false> batch_norm{};

struct BatchNormBackward {
    static constexpr auto name = "batch_norm_backward";
    static constexpr auto doc = "Gradients of batch_norm's y with respect to x, scale and bias.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs =
        names("x", "dy", unpromoted("scale"), unpromoted("saved_mean"), unpromoted("saved_inv_std"));
    static constexpr auto outputs = output_names("dx", "dscale", "dbias");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    static constexpr auto in_place = in_place_list(InPlace{0, 1});
    struct Params {
        bool training = true;
    };
    static constexpr auto fields =
        field_list(field<&Params::training>("training", "True if the statistics were computed from x."));
    static constexpr PerInputElement operations{7};
    static constexpr auto autocast = Autocast::wide;
    // x, dy and dx; tensors with one element per channel stay plain.
    static constexpr ImageLayouts layouts{.inputs = 0b11, .outputs = 0b1};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BatchNormBackward, false> batch_norm_backward{};

}  // namespace mge::ops
