// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

struct Multinomial : Drawing {
    static constexpr auto name = "multinomial";
    static constexpr auto doc =
        "Draws categories with probabilities proportional to their weights (n,), or to each row of weights "
        "(m, n). Returns their indices (int32) in the order of the draws.";
    static constexpr auto inputs = names("state", "weights");
    struct Params {
        int64_t num_samples = 1;
        bool replacement = false;
    };
    static constexpr auto fields =
        field_list(field<&Params::num_samples>("num_samples", "Number of draws from each row; more than 0."),
                   field<&Params::replacement>("replacement", "Draw with replacement."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Multinomial> multinomial{};

}  // namespace mge::ops
