// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct BroadcastTo {
    static constexpr auto name = "broadcast_to";
    static constexpr auto doc = "Repeats x along new axes and axes of size 1 until it has the shape.";
    static constexpr auto inputs = names("x", host("target"));
    static constexpr auto takes = DTypes::all;
    struct Params {
        IntList shape;
    };
    static constexpr auto fields = field_list(
        field<&Params::shape>("shape",
                              "Shape of the result; -1 keeps the size of x. It is replaced by the tensor "
                              "`target` if that is given."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BroadcastTo> broadcast_to{};

struct BroadcastLike : WithoutParams {
    static constexpr auto name = "broadcast_like";
    static constexpr auto doc = "Repeats x until it has the shape of `like`, whose values are not read.";
    static constexpr auto inputs = names("x", example("like", InputKind::required, true));
    static constexpr auto takes = DTypes::all;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BroadcastLike> broadcast_like{};

// For both.
MGE_API StridedCopy plan_broadcast(const Problem& problem);

}  // namespace mge::ops
