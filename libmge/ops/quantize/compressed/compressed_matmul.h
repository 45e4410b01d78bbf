// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct CompressedMatmul {
    static constexpr auto name = "compressed_matmul";
    static constexpr auto doc =
        "Product x wᵀ in float32 of x (..., columns) with a matrix w (rows, columns) that is stored in 8 "
        "or 4 bits per weight as in `expand_weight`, followed by an optional bias (one value per row of "
        "w), an optional residual (of the result's shape) and an activation.";
    static constexpr auto inputs =
        names("x", "steps", "scale", optional("zero_point"), optional("bias"), optional("residual"));
    struct Params {
        int64_t bits = 8;
        int64_t group = 0;
        Activation activation = Activation::none;
    };
    static constexpr auto fields =
        field_list(field<&Params::bits>("bits", "Bits of a quantised weight: 8 or 4."),
                   field<&Params::group>(
                       "group", "Number of columns that share a scale, even for 4 bits; 0: the whole row."),
                   field<&Params::activation>("activation", activation_doc));
    static constexpr Epilogue epilogue{.channel_axis = -1};
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, Specs);
    // To x, residual and bias; steps, scales and zero points have none.
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<CompressedMatmul> compressed_matmul{};

}  // namespace mge::ops
