// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Cond {
    static constexpr auto name = "cond";
    static constexpr auto doc =
        "Applies one of two graphs to the operands: `then_graph` if the predicate, a tensor of one "
        "element, is not zero, else `else_graph`. The other graph is not computed.";
    static constexpr auto inputs = names("predicate", variadic("operands"));
    static constexpr auto outputs = output_names("results");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true, .control = true, .of_every_device = true};
    struct Params {
        SubgraphRef then_graph, else_graph;
    };
    static constexpr auto fields = field_list(
        field<&Params::then_graph>("then_graph", "Graph that is computed if the predicate is not zero."),
        field<&Params::else_graph>("else_graph",
                                   "Graph that is computed if the predicate is zero. It has as many "
                                   "results, of the same dtypes. If the shapes of the graphs differ, "
                                   "shapes of results are known only at run time."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static Footprint footprint(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Cond, false> cond{};

}  // namespace mge::ops
