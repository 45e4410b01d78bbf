// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/optimize/optimizer_step.h"

namespace mge::ops {

struct AdamStep : StepWithState<AdamStep> {
    static constexpr auto name = "adam_step";
    static constexpr auto doc =
        "One step of Adam (Kingma and Ba, 2015), or of AdamW (Loshchilov and Hutter, 2019) when decoupled: "
        "the decay is then added to the step, not to the gradient.";
    static constexpr auto inputs = names("param", "grad", "exp_avg", "exp_avg_sq", "step", "lr");
    static constexpr auto outputs = output_names("param", "exp_avg", "exp_avg_sq", "step");
    static constexpr auto in_place =
        in_place_list(InPlace{0, 0}, InPlace{1, 2}, InPlace{2, 3}, InPlace{3, 4});
    struct Params {
        double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
        bool decoupled = false;
    };
    static constexpr auto fields =
        field_list(field<&Params::beta1>("beta1", "Decay of the running mean of gradients."),
                   field<&Params::beta2>("beta2", "Decay of the running mean of squared gradients."),
                   field<&Params::epsilon>("epsilon", "Added to the root of the mean square."),
                   field<&Params::weight_decay>("weight_decay",
                                                "Factor of the parameter that is added to the gradient."),
                   field<&Params::decoupled>(
                       "decoupled", "Decay the parameter itself and not through the gradient (AdamW)."));
    // Two moments (3 and 4), the root, the quotient, the step and what surrounds them (5).
    static constexpr PerInputElement operations{12};
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdamStep, false> adam_step{};

}  // namespace mge::ops
