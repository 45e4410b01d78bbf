// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Matmul {
    static constexpr auto name = "matmul";
    static constexpr auto doc =
        "Matrix product of the last two axes, with NumPy's rules for vectors and batches, followed by an "
        "optional bias (one value per column), an optional residual (of the result's shape) and an "
        "activation.";
    static constexpr auto inputs = names("a", "b", optional("bias"), optional("residual"));
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::common};
    static constexpr auto in_place = in_place_list(InPlace{0, 3});
    struct Params {
        bool transpose_a = false;
        bool transpose_b = false;
        Activation activation = Activation::none;
    };
    static constexpr auto fields = field_list(
        field<&Params::transpose_a>("transpose_a", "Transpose the last two axes of a; ignored for a vector."),
        field<&Params::transpose_b>("transpose_b", "Transpose the last two axes of b; ignored for a vector."),
        field<&Params::activation>("activation", activation_doc));
    static constexpr Epilogue epilogue{.channel_axis = -1};
    static constexpr auto autocast = Autocast::narrow;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Matmul> matmul{};

}  // namespace mge::ops
