// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/nn/row_norm_rules.h"

namespace mge::ops {

struct GroupNormBackward;

// The statistics are f32 whatever the dtype of x, of shape (n, groups).
struct GroupNorm : RowNorm<GroupNorm, GroupNormBackward> {
    static constexpr auto name = "group_norm";
    static constexpr auto doc =
        "Normalises each group of neighbouring channels of each sample of x (N, C, ...) to mean 0 and "
        "variance 1, then scales by weight (C) and adds bias (C).";
    struct Params {
        int64_t groups = 1;
        double epsilon = 1e-5;
    };
    static constexpr auto fields =
        field_list(field<&Params::groups>("groups", "Number of groups; divides the number of channels."),
                   field<&Params::epsilon>("epsilon", "Added to the variance."));
    static constexpr AlwaysIndependent batch_independence{};

    static RowNormShapes shapes(std::string_view who, const TensorSpec& x, int64_t groups);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GroupNorm, false> group_norm{};

struct GroupNormBackward : RowNormBackward<GroupNormBackward, GroupNorm> {
    static constexpr auto name = "group_norm_backward";
    static constexpr auto doc = "Gradients of group_norm with respect to x, weight and bias.";
    struct Params {
        int64_t groups = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::groups>("groups", "Number of groups; divides the number of channels."));

    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GroupNormBackward, false> group_norm_backward{};

}  // namespace mge::ops
