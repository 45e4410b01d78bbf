// SPDX-License-Identifier: Apache-2.0
#pragma once
// A FusedProgram as the text of a GPU's kernel.

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/fused.h"
#include "libmge/kernel/cuda/kernel_text.h"
#include "libmge/ops/elementwise/fused/fused_views.h"

namespace mge::ops {

// How a kernel reads an input.
enum class FusedRead : uint8_t {
    along,  // one element for each of the result, in its order
    once,   // one element for all
    looped  // along some axes only, or by other strides: of a pack the first element's place is looked for
};

// A program as a GPU computes it, for inputs of certain specs.
struct FusedPlan {
    FusedProgram program;
    TensorSpecs specs;                      // specs of the program's registers
    std::vector<ViewedRegister> registers;  // reads come first
    std::vector<FusedRead> reads;
    cuda::FusedArguments arguments{};  // without addresses
    int pack = 1;                      // elements that are computed at once
    bool has_small_offsets = false;    // those of the result and of all reads are below 2^31
};
Support supports_fused_plan(const FusedProgram& program, const Problem& problem);
FusedPlan plan_fused(const FusedProgram& program, Specs inputs);

// A kernel "fused", of FusedArguments, that stores the program's result.
cuda::KernelText fused_text(const FusedPlan& plan);

// A reduction of the result.
struct FusedTotal {
    std::string_view functor;  // a functor of kernel/cuda/reduce/totals.cuh
    bool in_floats = false;    // whatever the elements are
    cuda::ReduceMethod method{};
};
// A kernel "fused", of FusedReduceArguments, and "joined" for the pieces that it leaves.
cuda::KernelText fused_text(const FusedPlan& plan, const FusedTotal& total);

}  // namespace mge::ops
