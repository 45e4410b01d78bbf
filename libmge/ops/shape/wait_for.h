// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct WaitFor {
    static constexpr auto name = "wait_for";
    static constexpr auto doc = "Returns x after the other tensors have been computed.";
    static constexpr auto inputs = names("x", variadic("others"));
    static constexpr auto takes = DTypes::all;
    struct Params {
        bool stops_gradient = false;
    };
    static constexpr auto fields = field_list(field<&Params::stops_gradient>(
        "stops_gradient", "Whether x gets no gradient, as a detached tensor."));
    static constexpr OpTraits traits{.view = true, .once = true};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<WaitFor> wait_for{};

}  // namespace mge::ops
