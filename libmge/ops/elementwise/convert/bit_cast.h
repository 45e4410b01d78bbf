// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct BitCast {
    static constexpr auto name = "bit_cast";
    static constexpr auto doc = "Reinterprets the bits of x as elements of another dtype of the same size.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr bool stops_gradient = true;
    struct Params {
        DType dtype = DType::i32;
    };
    static constexpr auto fields = field_list(
        field<&Params::dtype>("dtype", "Dtype of the result. It is not bool, whose bytes are 0 and 1."));
    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BitCast> bit_cast{};

}  // namespace mge::ops
