// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

struct Gamma : DrawingForEach<Gamma> {
    static constexpr auto name = "gamma";
    static constexpr auto doc =
        "Independent float32 numbers with gamma distributions, one for each element of `shape` and "
        "`scale`, which have equal shapes. The number is 0 if a parameter is not positive.";
    static constexpr auto inputs = names("state", "shape", "scale");
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Gamma> gamma{};

struct Beta : DrawingForEach<Beta> {
    static constexpr auto name = "beta";
    static constexpr auto doc =
        "Independent float32 numbers with beta distributions, one for each element of `alpha` and `beta`, "
        "which have equal shapes. The number is 0 if a parameter is not positive.";
    static constexpr auto inputs = names("state", "alpha", "beta");
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Beta> beta{};

}  // namespace mge::ops
