// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/autocast.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Softmax {
    static constexpr auto name = "softmax";
    static constexpr auto doc =
        "Exponentials normalised to sum to 1 along an axis, or their logarithms. "
        "Integers become float32 first.";
    static constexpr auto inputs = names("x");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        int axis = -1;
        bool log = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::axis>("axis", "Axis along which the result sums to 1; negative counts from the end."),
        field<&Params::log>("log", "Return the logarithms."));
    // Largest, difference, exponential, sum, quotient.
    static constexpr PerInputElement operations{5};
    // Losses are made of the logarithm.
    static constexpr CastTo cast_to(const Params& p) { return p.log ? CastTo::high : CastTo::as_given; }

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<BatchIndependence> batch_independence(const Params& p, Specs in, Specs) {
        return independent_unless_batch(p.axis, in[0]);
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Softmax> softmax{};

}  // namespace mge::ops
