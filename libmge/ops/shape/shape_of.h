// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ShapeOf {
    static constexpr auto name = "shape_of";
    static constexpr auto doc = "Returns the shape of x as an int32 vector. The values of x are not read.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_only_specs = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        int axis = -1;
    };
    static constexpr auto fields =
        field_list(field<&Params::axis>("axis", "Axis whose size is returned; -1: all axes."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ShapeOf> shape_of{};

}  // namespace mge::ops
