// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Clip {
    static constexpr auto name = "clip";
    static constexpr auto doc =
        "x limited to [lower, upper]. An element below lower gives lower, even if lower > upper. NaN gives "
        "upper unless keeps_nan is set.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        double lower = -std::numeric_limits<double>::infinity();
        double upper = std::numeric_limits<double>::infinity();
        bool keeps_nan = false;
    };
    static constexpr auto fields = field_list(field<&Params::lower>("lower", "Smallest value of the result."),
                                              field<&Params::upper>("upper", "Largest value of the result."),
                                              field<&Params::keeps_nan>("keeps_nan", keeps_nan_doc));
    static constexpr Accepts accepted = Accepts::numbers;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Clip> clip{};

}  // namespace mge::ops
