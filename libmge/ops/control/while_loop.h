// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct WhileLoop {
    static constexpr auto name = "while_loop";
    static constexpr auto doc =
        "Computes the body's results from the first `carried` operands over and over, as long as the "
        "condition holds for them; the other operands stay. The results are the last of them, then the "
        "number of steps.";
    static constexpr auto inputs = names(variadic("operands"));
    static constexpr auto outputs = output_names("results");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true, .control = true, .of_every_device = true};
    struct Params {
        SubgraphRef condition, body;
        int64_t carried = 1, max_steps = 0;
        bool keep_steps = false;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::condition>("condition", "Of all operands to one element: zero ends the loop."),
        field<&Params::body>("body", "Of all operands to new ones for the first `carried`, of their specs."),
        field<&Params::carried>("carried", "How many operands change from step to step."),
        field<&Params::max_steps>("max_steps",
                                  "The loop ends after so many steps at the latest; 0: no limit, and no "
                                  "gradient."),
        field<&Params::keep_steps>("keep_steps",
                                   "What was carried into each step follows as further results, along a new "
                                   "first axis of extent max_steps that ends with zeros: for the gradient."));

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static Tensors gradient(const GradientContext<Params>&);
    static Footprint footprint(const Params&, std::span<const TensorSpec> in,
                               std::span<const TensorSpec> out);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, WhileLoop);
inline constexpr OpFunction<WhileLoop, false> while_loop{};

}  // namespace mge::ops
