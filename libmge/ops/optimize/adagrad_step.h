// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/optimize/optimizer_step.h"

namespace mge::ops {

struct AdagradStep : StepWithState<AdagradStep> {
    static constexpr auto name = "adagrad_step";
    static constexpr auto doc =
        "One step of Adagrad (Duchi, Hazan and Singer, 2011): s = square_sum + g * g, "
        "param - lr / (1 + step * lr_decay) * g / sqrt(s + epsilon), step being the count before it.";
    static constexpr auto inputs = names("param", "grad", "square_sum", "step", "lr");
    static constexpr auto outputs = output_names("param", "square_sum", "step");
    static constexpr auto in_place = in_place_list(InPlace{0, 0}, InPlace{1, 2}, InPlace{2, 3});
    struct Params {
        double lr_decay = 0, epsilon = 1e-10, weight_decay = 0;
    };
    static constexpr auto fields = field_list(
        field<&Params::lr_decay>("lr_decay", "Decay of the learning rate with the number of steps."),
        field<&Params::epsilon>("epsilon", "Added under the square root."),
        field<&Params::weight_decay>("weight_decay",
                                     "Factor of the parameter that is added to the gradient."));
    // The sum (2), its root (2), the quotient, the step (2).
    static constexpr PerInputElement operations{7};
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdagradStep, false> adagrad_step{};

}  // namespace mge::ops
