// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Convert {
    static constexpr auto name = "convert";
    static constexpr auto doc =
        "Converts x to another dtype. Floats are truncated to integers, and integers wrap around; NaN and "
        "floats beyond int32 become -2^31 first. As bool, every value but 0 is true.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        DType dtype = DType::f32;
    };
    static constexpr auto fields = field_list(field<&Params::dtype>("dtype", "Dtype of the result."));
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Convert> convert{};

struct Copy : WithoutParams {
    static constexpr auto name = "copy";
    static constexpr auto doc = "Copies x to new memory.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Copy> copy{};

}  // namespace mge::ops
