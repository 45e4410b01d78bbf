// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Dropout {
    static constexpr auto name = "dropout";
    static constexpr auto doc =
        "Sets elements of x to 0 with a probability and scales the others to keep the mean. The mask is "
        "the factor of each element, in the dtype of x.";
    static constexpr auto inputs = names("x", "seed");
    static constexpr auto outputs = output_names("y", "mask");
    static constexpr OpTraits traits{.once = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        double probability = 0.5;
    };
    static constexpr auto fields = field_list(field<&Params::probability>(
        "probability", "Probability that an element is set to 0; at least 0 and below 1."));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Dropout, false> dropout{};

}  // namespace mge::ops
