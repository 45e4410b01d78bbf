// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Where : WithoutParams {
    static constexpr auto name = "where";
    static constexpr auto doc = "a if the mask is true, else b.";
    static constexpr auto inputs = names(unpromoted("mask"), "a", "b");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::common, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 1}, InPlace{0, 2});
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Where> where{};

}  // namespace mge::ops
