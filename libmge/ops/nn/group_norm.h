// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// The statistics are f32 whatever the dtype of x, of shape (n, groups).
struct GroupNorm {
    static constexpr auto name = "group_norm";
    static constexpr auto doc =
        "Normalises each group of neighbouring channels of each sample of x (N, C, ...) to mean 0 and "
        "variance 1, then scales by weight (C) and adds bias (C).";
    static constexpr auto inputs = names("x", optional("weight"), optional("bias"));
    static constexpr auto outputs = output_names("y", "mean", "inv_std");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    struct Params {
        int64_t groups = 1;
        double epsilon = 1e-5;
    };
    static constexpr auto fields =
        field_list(field<&Params::groups>("groups", "Number of groups; divides the number of channels."),
                   field<&Params::epsilon>("epsilon", "Added to the variance."));
    // Mean, variance, difference, scale, weight and bias: as MegEngine's module statistics count them.
    static constexpr PerInputElement operations{7};
    static constexpr AlwaysIndependent batch_independence{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GroupNorm, false> group_norm{};

struct GroupNormBackward {
    static constexpr auto name = "group_norm_backward";
    static constexpr auto doc = "Gradients of group_norm with respect to x, weight and bias.";
    static constexpr bool only_trains = true;
    // dmean, dinv_std: gradients of the statistics themselves, if they are used.
    static constexpr auto inputs =
        names("x", "dy", unpromoted("mean"), unpromoted("inv_std"), optional("weight"),
              InputInfo("dmean", InputKind::optional, false, false),
              InputInfo("dinv_std", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dx", "dweight", "dbias");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    struct Params {
        int64_t groups = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::groups>("groups", "Number of groups; divides the number of channels."));
    static constexpr PerInputElement operations{7};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GroupNormBackward, false> group_norm_backward{};

}  // namespace mge::ops
