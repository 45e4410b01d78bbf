// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/ops/nn/pooling/geometry.h"

namespace mge::ops {

struct AdaptiveMaxPool2d {
    static constexpr auto name = "adaptive_max_pool2d";
    static constexpr auto doc =
        "Maximum of each cell of a grid of (height, width) windows over images x (N, C, H, W).";
    static constexpr auto inputs = names("x");
    struct Params {
        int64_t height = 1;
        int64_t width = 1;
    };
    static constexpr auto fields = field_list(field<&Params::height>("height", "Height of the result."),
                                              field<&Params::width>("width", "Width of the result."));
    static constexpr ImageLayouts layouts{};
    static constexpr AlwaysIndependent batch_independence{{.shares_times = true}};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2d> adaptive_max_pool2d{};

struct AdaptiveMaxPool2dBackward {
    static constexpr auto name = "adaptive_max_pool2d_backward";
    static constexpr auto doc =
        "Gradient of adaptive_max_pool2d: dy is added to every element that equals the maximum of its "
        "window.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "dy");
    static constexpr auto outputs = output_names("dx");
    using Params = AdaptiveMaxPool2d::Params;
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    static constexpr ImageLayouts layouts{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2dBackward> adaptive_max_pool2d_backward{};

struct AdaptiveMaxPool2dSelect {
    static constexpr auto name = "adaptive_max_pool2d_select";
    static constexpr auto doc =
        "Sum of v over the elements of each window of x that equal its maximum y. It is the gradient of "
        "adaptive_max_pool2d_backward with respect to dy.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "v");
    static constexpr auto outputs = output_names("z");
    using Params = AdaptiveMaxPool2d::Params;
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    static constexpr ImageLayouts layouts{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2dSelect> adaptive_max_pool2d_select{};

struct AdaptiveAvgPool2d {
    static constexpr auto name = "adaptive_avg_pool2d";
    static constexpr auto doc =
        "Mean of each cell of a grid of (height, width) windows over images x (N, C, H, W).";
    static constexpr auto inputs = names("x");
    using Params = AdaptiveMaxPool2d::Params;
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    static constexpr ImageLayouts layouts{};
    static constexpr AlwaysIndependent batch_independence{{.shares_times = true}};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveAvgPool2d> adaptive_avg_pool2d{};

struct AdaptiveAvgPool2dBackward {
    static constexpr auto name = "adaptive_avg_pool2d_backward";
    static constexpr auto doc = "Gradient of adaptive_avg_pool2d, of the shape of x.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names(example("x"), "dy");
    static constexpr auto outputs = output_names("dx");
    using Params = AdaptiveMaxPool2d::Params;
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    static constexpr ImageLayouts layouts{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveAvgPool2dBackward> adaptive_avg_pool2d_backward{};

}  // namespace mge::ops
