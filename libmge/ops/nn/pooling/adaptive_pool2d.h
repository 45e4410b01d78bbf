// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/nn/pooling/pool_rules.h"

namespace mge::ops {

struct AdaptivePoolParams {
    int64_t height = 1;
    int64_t width = 1;
};
inline Shape pooled_shape(std::string_view who, const Shape& x, const AdaptivePoolParams& p) {
    return adaptive_pool_shape(who, x, {p.height, p.width});
}
inline Pair window_of(std::string_view who, const Shape& x, const AdaptivePoolParams& p) {
    return adaptive_pool_geometry(who, x, {p.height, p.width}).kernel;
}

struct AdaptiveMaxPool2dBackward;
struct AdaptiveMaxPool2dSelect;
struct AdaptiveAvgPool2dBackward;

struct AdaptiveMaxPool2d : MaxPoolForward<AdaptiveMaxPool2d, AdaptiveMaxPool2dBackward, AdaptivePoolParams> {
    static constexpr auto name = "adaptive_max_pool2d";
    static constexpr auto doc =
        "Maximum of each cell of a grid of (height, width) windows over images x (N, C, H, W).";
    static constexpr auto fields = field_list(field<&Params::height>("height", "Height of the result."),
                                              field<&Params::width>("width", "Width of the result."));
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2d> adaptive_max_pool2d{};

struct AdaptiveMaxPool2dBackward
    : MaxPoolBackward<AdaptiveMaxPool2dBackward, AdaptiveMaxPool2dSelect, AdaptivePoolParams> {
    static constexpr auto name = "adaptive_max_pool2d_backward";
    static constexpr auto doc =
        "Gradient of adaptive_max_pool2d: dy is added to every element that equals the maximum of its "
        "window.";
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2dBackward> adaptive_max_pool2d_backward{};

struct AdaptiveMaxPool2dSelect
    : MaxPoolSelect<AdaptiveMaxPool2dSelect, AdaptiveMaxPool2dBackward, AdaptivePoolParams> {
    static constexpr auto name = "adaptive_max_pool2d_select";
    static constexpr auto doc =
        "Sum of v over the elements of each window of x that equal its maximum y. It is the gradient of "
        "adaptive_max_pool2d_backward with respect to dy.";
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveMaxPool2dSelect> adaptive_max_pool2d_select{};

struct AdaptiveAvgPool2d : AvgPoolForward<AdaptiveAvgPool2d, AdaptiveAvgPool2dBackward, AdaptivePoolParams> {
    static constexpr auto name = "adaptive_avg_pool2d";
    static constexpr auto doc =
        "Mean of each cell of a grid of (height, width) windows over images x (N, C, H, W).";
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveAvgPool2d> adaptive_avg_pool2d{};

struct AdaptiveAvgPool2dBackward
    : AvgPoolBackward<AdaptiveAvgPool2dBackward, AdaptiveAvgPool2d, AdaptivePoolParams> {
    static constexpr auto name = "adaptive_avg_pool2d_backward";
    static constexpr auto doc = "Gradient of adaptive_avg_pool2d, of the shape of x.";
    static constexpr auto fields = AdaptiveMaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdaptiveAvgPool2dBackward> adaptive_avg_pool2d_backward{};

}  // namespace mge::ops
