// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Scan {
    static constexpr auto name = "scan";
    static constexpr auto doc =
        "Applies the body to each slice of the operands `xs` along their first axis. Operands are the "
        "`carried` ones, then xs, then others. Each step computes new carried values and one slice of each "
        "further result. Results are the last carried values, then the slices stacked along a new first "
        "axis.";
    static constexpr auto inputs = names(variadic("operands"));
    static constexpr auto outputs = output_names("results");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true, .control = true, .of_every_device = true};
    struct Params {
        SubgraphRef body;
        int64_t carried = 1, sliced = 0, length = 0;
        bool reverse = false, keep_steps = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::body>("body",
                             "Graph of a step. It maps the carried operands, a slice of each of xs and all "
                             "other operands to new carried values, of equal shapes and dtypes, and slices "
                             "of the further results."),
        field<&Params::carried>("carried", "Number of operands that change from step to step."),
        field<&Params::sliced>("sliced", "Number of operands in xs."),
        field<&Params::length>("length", "Number of steps without xs."),
        field<&Params::reverse>("reverse", "Run from the last slice to the first."),
        field<&Params::keep_steps>("keep_steps",
                                   "Append the values carried into each step to the results, stacked along "
                                   "a new first axis. The gradient needs them."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static Footprint footprint(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
// The number of steps, and what the body sees of the operands.
MGE_API int64_t scan_length(const Scan::Params& params, Specs operands);
MGE_API TensorSpecs scan_arguments(const Scan::Params& params, Specs operands);
inline constexpr OpFunction<Scan, false> scan{};

}  // namespace mge::ops
