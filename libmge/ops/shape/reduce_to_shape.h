// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ReduceToShape {
    static constexpr auto name = "reduce_to_shape";
    static constexpr auto doc =
        "Sums x over the axes along which the target shape would broadcast to the "
        "shape of x.";
    static constexpr auto inputs = names("x", example("like", InputKind::optional));
    static constexpr auto takes = DTypes::numbers;
    struct Params {
        IntList shape;
    };
    static constexpr auto fields = field_list(field<&Params::shape>(
        "shape", "Shape of the result; replaced by that of the tensor `like` if it is given."));
    static constexpr PerInputElement operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ReduceToShape> reduce_to_shape{};

}  // namespace mge::ops
