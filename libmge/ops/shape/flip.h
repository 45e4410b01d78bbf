// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Flip {
    static constexpr auto name = "flip";
    static constexpr auto doc = "Reverses the order of the elements along axes.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        IntList axes;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Axes to reverse; negative ones count from the end."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Flip> flip{};

MGE_API StridedCopy plan_flip(const Problem& problem);

}  // namespace mge::ops
