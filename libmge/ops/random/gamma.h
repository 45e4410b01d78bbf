// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Gamma : WithoutParams {
    static constexpr auto name = "gamma";
    static constexpr auto doc =
        "Independent float32 numbers with gamma distributions, one for each element of `shape` and "
        "`scale`, which have equal shapes. The number is 0 if a parameter is not positive.";
    static constexpr auto inputs = names("state", "shape", "scale");
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Gamma> gamma{};

struct Beta : WithoutParams {
    static constexpr auto name = "beta";
    static constexpr auto doc =
        "Independent float32 numbers with beta distributions, one for each element of `alpha` and `beta`, "
        "which have equal shapes. The number is 0 if a parameter is not positive.";
    static constexpr auto inputs = names("state", "alpha", "beta");
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Beta> beta{};

}  // namespace mge::ops
