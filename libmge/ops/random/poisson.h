// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

struct Poisson : DrawingForEach<Poisson> {
    static constexpr auto name = "poisson";
    static constexpr auto doc =
        "Independent counts, in float32, with Poisson distributions, one for each element of the mean "
        "`lam`. The count is 0 if the mean is not positive.";
    static constexpr auto inputs = names("state", "lam");
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Poisson> poisson{};

}  // namespace mge::ops
