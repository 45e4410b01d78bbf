// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/optimize/optimizer_step.h"

namespace mge::ops {

struct AdadeltaStep : StepWithState<AdadeltaStep> {
    static constexpr auto name = "adadelta_step";
    static constexpr auto doc =
        "One step of Adadelta (Zeiler, 2012): s = rho * square_avg + (1 - rho) * g * g, "
        "d = sqrt(delta_avg + epsilon) / sqrt(s + epsilon) * g, param - lr * d, "
        "delta_avg = rho * delta_avg + (1 - rho) * d * d.";
    static constexpr auto inputs = names("param", "grad", "square_avg", "delta_avg", "step", "lr");
    static constexpr auto outputs = output_names("param", "square_avg", "delta_avg", "step");
    static constexpr auto in_place =
        in_place_list(InPlace{0, 0}, InPlace{1, 2}, InPlace{2, 3}, InPlace{3, 4});
    struct Params {
        double rho = 0.9, epsilon = 1e-6, weight_decay = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::rho>("rho", "Decay of the running means."),
                   field<&Params::epsilon>("epsilon", "Added under the square roots."),
                   field<&Params::weight_decay>("weight_decay",
                                                "Factor of the parameter that is added to the gradient."));
    // Two means (4 each), two roots (4), their quotient and the step (4).
    static constexpr PerInputElement operations{16};
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AdadeltaStep, false> adadelta_step{};

}  // namespace mge::ops
