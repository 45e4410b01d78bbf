// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "libmge/kernel/activation.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

using Pair = std::array<int64_t, 2>;  // rows, columns

struct Conv2d {
    static constexpr auto name = "conv2d";
    static constexpr auto doc =
        "Cross-correlation of images x (N, C, H, W) with a weight (OC, C, kh, kw), or (G, OC/G, C/G, kh, "
        "kw) for G > 1 groups, followed by an optional bias (1, OC, 1, 1), an optional residual (of the "
        "result's shape) and an activation.";
    static constexpr auto inputs = names("x", "weight", optional("bias"), optional("residual"));
    static constexpr OpTraits traits{.promotion = Promotion::common};
    static constexpr auto in_place = in_place_list(InPlace{0, 3});
    struct Params {
        Pair stride{1, 1};
        Pair padding{0, 0};
        Pair dilation{1, 1};
        int64_t groups = 1;
        Activation activation = Activation::none;
    };
    static constexpr auto fields = field_list(
        field<&Params::stride>("stride", "Step of the window along height and width."),
        field<&Params::padding>("padding", "Number of zeros added on each side of height and width."),
        field<&Params::dilation>("dilation", "Distance between neighbouring elements of the window."),
        field<&Params::groups>("groups", "Number of groups of channels."),
        field<&Params::activation>("activation", activation_doc));
    static constexpr Epilogue epilogue{.channel_axis = 1};
    // The image, the residual and the result.
    static constexpr ImageLayouts layouts{.inputs = 0b1001, .outputs = 0b1, .is_preferred = true};
    static constexpr AlwaysIndependent batch_independence{{.shared_inputs = 0b0110, .shares_times = true}};
    static constexpr auto autocast = Autocast::narrow;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Conv2d> conv2d{};

struct Conv2dBackwardData {
    static constexpr auto name = "conv2d_backward_data";
    static constexpr auto doc =
        "Gradient of conv2d with respect to x, which is the transposed convolution of dy. The size of the "
        "result is that of `like` if it is given, else height and width, else the smallest possible one.";
    static constexpr auto inputs = names("weight", "dy", example("like", InputKind::optional));
    static constexpr auto outputs = output_names("dx");
    static constexpr OpTraits traits{.promotion = Promotion::common};
    struct Params {
        Pair stride{1, 1};
        Pair padding{0, 0};
        Pair dilation{1, 1};
        int64_t groups = 1;
        int64_t height = 0;
        int64_t width = 0;
    };
    static constexpr auto fields = field_list(
        field<&Params::stride>("stride", "As in conv2d."),
        field<&Params::padding>("padding", "As in conv2d."),
        field<&Params::dilation>("dilation", "As in conv2d."),
        field<&Params::groups>("groups", "As in conv2d."),
        field<&Params::height>("height",
                               "Height of the result without `like`; 0: the smallest possible one."),
        field<&Params::width>("width", "Width of the result without `like`; 0: the smallest possible one."));
    // dy and the result; of `like` only the shape is read.
    static constexpr ImageLayouts layouts{.inputs = 0b010, .outputs = 0b1};
    static constexpr AlwaysIndependent batch_independence{
        {.batch_input = 1, .shared_inputs = 0b001, .shares_times = true}};
    static constexpr auto autocast = Autocast::narrow;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Conv2dBackwardData> conv2d_backward_data{};

struct Conv2dBackwardWeight {
    static constexpr auto name = "conv2d_backward_weight";
    static constexpr auto doc =
        "Gradient of conv2d with respect to its weight, which has the shape of "
        "`like`.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "dy", example("like"));
    static constexpr auto outputs = output_names("dweight");
    static constexpr OpTraits traits{.promotion = Promotion::common};
    struct Params {
        Pair stride{1, 1};
        Pair padding{0, 0};
        Pair dilation{1, 1};
        int64_t groups = 1;
    };
    static constexpr auto fields = field_list(field<&Params::stride>("stride", "As in conv2d."),
                                              field<&Params::padding>("padding", "As in conv2d."),
                                              field<&Params::dilation>("dilation", "As in conv2d."),
                                              field<&Params::groups>("groups", "As in conv2d."));
    // x and dy; the result has the layout of weights.
    static constexpr ImageLayouts layouts{.inputs = 0b011, .outputs = 0};
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Conv2dBackwardWeight> conv2d_backward_weight{};

}  // namespace mge::ops
