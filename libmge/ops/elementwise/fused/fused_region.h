// SPDX-License-Identifier: Apache-2.0
#pragma once
// A FusedProgram that may also transpose, and a reduction of its result, as one step: what the program
// computes is reduced while it is in the cache, and never stored.

#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::ops {

struct FusedRegion {
    static constexpr auto name = "fused_region";
    static constexpr auto doc =
        "Computes a program of elementwise operators and transpositions, and optionally reduces its result.";
    static constexpr auto inputs = names(variadic("xs"));
    static constexpr bool stops_gradient = true;
    struct Params {
        std::string program;
        std::string reduction;
        IntList axes;
        bool keepdims = false;
    };
    static constexpr auto fields = field_list(
        field<&Params::program>("program",
                                "Steps separated by semicolons, e.g. 'inputs 2; add 0 1; relu 2'."),
        field<&Params::reduction>("reduction", "sum, mean, prod, max or min; empty: none."),
        field<&Params::axes>("axes", "Axes to reduce; negative ones count from the end; empty: all."),
        field<&Params::keepdims>("keepdims", "Leave the reduced axes with size 1."));
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, Specs);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<FusedRegion> fused_region{};

// The reduction that a region ends with; null when it has none. UserError when there is none of that name.
MGE_API const OpInfo* reduction_of(const FusedRegion::Params& params);
inline ReduceParams reduce_params(const FusedRegion::Params& params) {
    return {params.axes, params.keepdims};
}
// True for operators that a region can end with.
MGE_API bool is_fusible_reduction(const OpInfo& op);

}  // namespace mge::ops
