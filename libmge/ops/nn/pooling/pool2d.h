// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/ops/nn/pooling/geometry.h"

namespace mge::ops {

struct MaxPool2d {
    static constexpr auto name = "max_pool2d";
    static constexpr auto doc =
        "Maximum of each window of images x (N, C, H, W), floating or of uint8 or int8.";
    static constexpr auto inputs = names("x");
    struct Params {
        Pair kernel{1, 1};
        Pair stride{1, 1};
        Pair padding{0, 0};
    };
    static constexpr auto fields = field_list(
        field<&Params::kernel>("kernel", "Size of the window."),
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding",
                                "Number of pixels by which windows may extend beyond each side of height "
                                "and width."));
    static constexpr ImageLayouts layouts{};
    static constexpr AlwaysIndependent batch_independence{{.shares_times = true}};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2d> max_pool2d{};

struct MaxPool2dBackward {
    static constexpr auto name = "max_pool2d_backward";
    static constexpr auto doc =
        "Gradient of max_pool2d: dy is added to every element that equals the maximum of its window.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "dy");
    static constexpr auto outputs = output_names("dx");
    using Params = MaxPool2d::Params;
    static constexpr auto fields = MaxPool2d::fields;
    static constexpr ImageLayouts layouts{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2dBackward> max_pool2d_backward{};

struct MaxPool2dSelect {
    static constexpr auto name = "max_pool2d_select";
    static constexpr auto doc =
        "Sum of v over the elements of each window of x that equal its maximum y. It is the gradient of "
        "max_pool2d_backward with respect to dy.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "v");
    static constexpr auto outputs = output_names("z");
    using Params = MaxPool2d::Params;
    static constexpr auto fields = MaxPool2d::fields;
    static constexpr ImageLayouts layouts{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MaxPool2dSelect> max_pool2d_select{};

struct AvgPool2d {
    static constexpr auto name = "avg_pool2d";
    static constexpr auto doc = "Mean of each window of images x (N, C, H, W).";
    static constexpr auto inputs = names("x");
    struct Params {
        Pair kernel{1, 1};
        Pair stride{1, 1};
        Pair padding{0, 0};
        bool count_include_pad = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::kernel>("kernel", "Size of the window."),
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding",
                                "Number of pixels by which windows may extend beyond each side of height "
                                "and width."),
        field<&Params::count_include_pad>("count_include_pad",
                                          "Divide by the size of the whole window even at the border."));
    static constexpr ImageLayouts layouts{};
    static constexpr AlwaysIndependent batch_independence{{.shares_times = true}};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AvgPool2d> avg_pool2d{};

struct AvgPool2dBackward {
    static constexpr auto name = "avg_pool2d_backward";
    static constexpr auto doc = "Gradient of avg_pool2d, of the shape of x.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names(example("x"), "dy");
    static constexpr auto outputs = output_names("dx");
    using Params = AvgPool2d::Params;
    static constexpr auto fields = AvgPool2d::fields;
    static constexpr ImageLayouts layouts{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AvgPool2dBackward> avg_pool2d_backward{};

}  // namespace mge::ops
