// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Roll {
    static constexpr auto name = "roll";
    static constexpr auto doc = "Moves elements along axes; those beyond the end wrap around to the front.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        IntList shifts;
        IntList axes;
    };
    static constexpr auto fields = field_list(
        field<&Params::shifts>("shifts", "Positions to move by; negative ones move to the front."),
        field<&Params::axes>("axes",
                             "The axis of each shift; negative ones count from the end. The shifts of "
                             "an axis that is listed twice are added."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Roll> roll{};

// The shift of each axis of a shape, from 0 to below its size.
MGE_API IntList roll_shifts(const Roll::Params& params, const Shape& shape);
// One copy for each part of the result that stays whole.
MGE_API std::vector<StridedCopy> plan_roll(const Problem& problem);

}  // namespace mge::ops
