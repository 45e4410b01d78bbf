// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Poisson : WithoutParams {
    static constexpr auto name = "poisson";
    static constexpr auto doc =
        "Independent counts, in float32, with Poisson distributions, one for each element of the mean "
        "`lam`. The count is 0 if the mean is not positive.";
    static constexpr auto inputs = names("state", "lam");
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Poisson> poisson{};

}  // namespace mge::ops
