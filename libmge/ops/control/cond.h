// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Cond {
    static constexpr auto name = "cond";
    static constexpr auto doc =
        "What one of two graphs makes of the operands: the first where the predicate is not zero, else the "
        "second. Only that one is computed.";
    static constexpr auto inputs = names("predicate", variadic("operands"));
    static constexpr auto outputs = output_names("results");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true, .control = true, .of_every_device = true};
    struct Params {
        SubgraphRef then_graph, else_graph;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::then_graph>("then_graph", "What is computed where the predicate is not zero."),
        field<&Params::else_graph>("else_graph",
                                   "What is computed where it is zero; as many results, of the same dtypes. "
                                   "Where their shapes differ, only a run tells the shape."));

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static Tensors gradient(const GradientContext<Params>&);
    static Footprint footprint(const Params&, std::span<const TensorSpec> in,
                               std::span<const TensorSpec> out);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Cond);
inline constexpr OpFunction<Cond, false> cond{};

}  // namespace mge::ops
