// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct WhileLoop {
    static constexpr auto name = "while_loop";
    static constexpr auto doc =
        "Applies the body to the operands as long as the condition holds. The first `carried` operands are "
        "replaced by the results of the body; the others are constant. Results are the last carried "
        "values, then the number of steps.";
    static constexpr auto inputs = names(variadic("operands"));
    static constexpr auto outputs = output_names("results");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true, .control = true, .of_every_device = true};
    struct Params {
        SubgraphRef condition, body;
        int64_t carried = 1, max_steps = 0;
        bool keep_steps = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::condition>("condition",
                                  "Graph that maps all operands to one element. Zero ends the loop."),
        field<&Params::body>("body",
                             "Graph that maps all operands to new carried values of equal shapes "
                             "and dtypes."),
        field<&Params::carried>("carried", "Number of operands that change from step to step."),
        field<&Params::max_steps>("max_steps", "Largest number of steps; 0: no limit, and no gradient."),
        field<&Params::keep_steps>("keep_steps",
                                   "Append the values carried into each step to the results, stacked along "
                                   "a new first axis of size max_steps and padded with zeros. The "
                                   "gradient needs them."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static Footprint footprint(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<WhileLoop, false> while_loop{};

}  // namespace mge::ops
