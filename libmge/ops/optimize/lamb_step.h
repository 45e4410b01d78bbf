// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/optimize/optimizer_step.h"

namespace mge::ops {

struct LambStep : StepWithState<LambStep> {
    static constexpr auto name = "lamb_step";
    static constexpr auto doc =
        "One step of LAMB (You et al., 2020): a step of Adam scaled to the norm of the parameter, times lr.";
    static constexpr auto inputs = names("param", "grad", "exp_avg", "exp_avg_sq", "step", "lr");
    static constexpr auto outputs = output_names("param", "exp_avg", "exp_avg_sq", "step");
    static constexpr auto in_place =
        in_place_list(InPlace{0, 0}, InPlace{1, 2}, InPlace{2, 3}, InPlace{3, 4});
    struct Params {
        double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
        bool bias_correction = true, always_adapt = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::beta1>("beta1", "Decay of the running mean of gradients."),
        field<&Params::beta2>("beta2", "Decay of the running mean of squared gradients."),
        field<&Params::epsilon>("epsilon", "Added to the root of the mean square."),
        field<&Params::weight_decay>("weight_decay", "Factor of the parameter that is added to the step."),
        field<&Params::bias_correction>("bias_correction",
                                        "Correct the bias of running means that begin at 0."),
        field<&Params::always_adapt>("always_adapt",
                                     "Scale the step to the norm of the parameter even without weight "
                                     "decay."));
    // As of Adam, once for the lengths and once for the step, and two squares.
    static constexpr PerInputElement operations{22};
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LambStep, false> lamb_step{};

}  // namespace mge::ops
