// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/optimize/optimizer_step.h"

namespace mge::ops {

struct SgdStep : OptimizerStep {
    static constexpr auto name = "sgd_step";
    static constexpr auto doc =
        "One step of gradient descent: g = grad + weight_decay * param, v = momentum * velocity + g, param "
        "- lr * v. An absent velocity is zero. Without momentum the resulting velocity is empty.";
    static constexpr auto inputs = names("param", "grad", optional("velocity"), "lr");
    static constexpr auto outputs = output_names("param", "velocity");
    static constexpr auto in_place = in_place_list(InPlace{0, 0}, InPlace{1, 2});
    struct Params {
        double momentum = 0, weight_decay = 0;
        bool nesterov = false;
    };
    static constexpr auto fields =
        field_list(field<&Params::momentum>("momentum", "Decay of the velocity; 0: no velocity."),
                   field<&Params::weight_decay>("weight_decay",
                                                "Factor of the parameter that is added to the gradient."),
                   field<&Params::nesterov>("nesterov", "Step along g + momentum * v instead of v."));
    static constexpr PerInputElement operations{3};

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<SgdStep, false> sgd_step{};

}  // namespace mge::ops
