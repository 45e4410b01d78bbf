// SPDX-License-Identifier: Apache-2.0
#pragma once
// The position of the largest or smallest value along an axis.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ArgParams {
    int axis = -1;
    bool keepdims = false;
};
MGE_API TensorSpecs infer_arg(std::string_view name, const ArgParams& params, const TensorSpec& x);

template <class O>
struct ArgExtreme {
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    static constexpr bool stops_gradient = true;
    using Params = ArgParams;
    static constexpr auto fields =
        field_list(field<&Params::axis>("axis", "Axis to search along; negative counts from the end."),
                   field<&Params::keepdims>("keepdims", "Leave the axis with size 1."));
    static constexpr PerInputElement operations{};
    static TensorSpecs infer(const Params& p, Specs in) { return infer_arg(O::name, p, in[0]); }
    static std::optional<BatchIndependence> batch_independence(const Params& p, Specs in, Specs) {
        return independent_unless_batch(p.axis, in[0]);
    }
};

struct Argmax : ArgExtreme<Argmax> {
    static constexpr auto name = "argmax";
    static constexpr auto doc =
        "Index (int32) of the largest value along an axis. Of equal values it is the first. If there is "
        "NaN, it is that of the first NaN.";
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Argmax> argmax{};

struct Argmin : ArgExtreme<Argmin> {
    static constexpr auto name = "argmin";
    static constexpr auto doc =
        "Index (int32) of the smallest value along an axis. Of equal values it is the first. If there is "
        "NaN, it is that of the first NaN.";
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Argmin> argmin{};

}  // namespace mge::ops
