// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/nn/pooling/pool_rules.h"

namespace mge::ops {

struct PoolParams {
    Pair kernel{1, 1};
    Pair stride{1, 1};
    Pair padding{0, 0};
};
struct AvgPoolParams {
    Pair kernel{1, 1};
    Pair stride{1, 1};
    Pair padding{0, 0};
    bool count_include_pad = false;
};
Shape pooled_shape(std::string_view who, const Shape& x, const auto& p) {
    return pool_shape(who, x, p.kernel, p.stride, p.padding);
}
Pair window_of(std::string_view, const Shape&, const auto& p) { return p.kernel; }

struct MaxPool2dBackward;
struct MaxPool2dSelect;
struct AvgPool2dBackward;

struct MaxPool2d : MaxPoolForward<MaxPool2d, MaxPool2dBackward, PoolParams> {
    static constexpr auto name = "max_pool2d";
    static constexpr auto doc =
        "Maximum of each window of images x (N, C, H, W), floating or of uint8 or int8.";
    static constexpr auto fields = field_list(
        field<&Params::kernel>("kernel", "Size of the window."),
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding",
                                "Number of pixels by which windows may extend beyond each side of height "
                                "and width."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2d> max_pool2d{};

struct MaxPool2dBackward : MaxPoolBackward<MaxPool2dBackward, MaxPool2dSelect, PoolParams> {
    static constexpr auto name = "max_pool2d_backward";
    static constexpr auto doc =
        "Gradient of max_pool2d: dy is added to every element that equals the maximum of its window.";
    static constexpr auto fields = MaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2dBackward> max_pool2d_backward{};

struct MaxPool2dSelect : MaxPoolSelect<MaxPool2dSelect, MaxPool2dBackward, PoolParams> {
    static constexpr auto name = "max_pool2d_select";
    static constexpr auto doc =
        "Sum of v over the elements of each window of x that equal its maximum y. It is the gradient of "
        "max_pool2d_backward with respect to dy.";
    static constexpr auto fields = MaxPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2dSelect> max_pool2d_select{};

struct AvgPool2d : AvgPoolForward<AvgPool2d, AvgPool2dBackward, AvgPoolParams> {
    static constexpr auto name = "avg_pool2d";
    static constexpr auto doc = "Mean of each window of images x (N, C, H, W).";
    static constexpr auto fields = field_list(
        field<&Params::kernel>("kernel", "Size of the window."),
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding",
                                "Number of pixels by which windows may extend beyond each side of height "
                                "and width."),
        field<&Params::count_include_pad>("count_include_pad",
                                          "Divide by the size of the whole window even at the border."));
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AvgPool2d> avg_pool2d{};

struct AvgPool2dBackward : AvgPoolBackward<AvgPool2dBackward, AvgPool2d, AvgPoolParams> {
    static constexpr auto name = "avg_pool2d_backward";
    static constexpr auto doc = "Gradient of avg_pool2d, of the shape of x.";
    static constexpr auto fields = AvgPool2d::fields;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AvgPool2dBackward> avg_pool2d_backward{};

}  // namespace mge::ops
