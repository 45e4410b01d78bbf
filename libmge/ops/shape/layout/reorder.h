// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// Inside compiled programs only: elsewhere tensors are row-major. The program's layout pass puts it where
// values change their layout.
struct Reorder {
    static constexpr auto name = "reorder";
    static constexpr auto doc = "Converts x to another memory layout. Padding of the layout is zero.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        std::string layout = "plain";
    };
    static constexpr auto fields = field_list(
        field<&Params::layout>("layout", "Name of the layout (nhwc, nChw16c, ...), or plain for row-major."));
    static constexpr bool stops_gradient = true;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Reorder> reorder{};

}  // namespace mge::ops
