// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of fused operators on a GPU.

#include "libmge/kernel/cuda/kernel_text.h"
#include "libmge/ops/elementwise/fused/fused_text.cuda.h"

namespace mge::ops {

// One launch that stores the program's result.
Support supports_fused(const FusedProgram& program, const Problem& problem);
Prepared prepare_fused(const FusedProgram& program, const PrepareContext& context);
// A kernel of a text for the problem's device.
std::shared_ptr<const cuda::CompiledKernel> fused_kernel(const cuda::KernelText& text,
                                                         const std::string& name,
                                                         const PrepareContext& context);
void run_fused(const Prepared& prepared, const Launch& launch);

// With addresses; packs of so many elements where these allow it.
cuda::FusedArguments fused_arguments(const FusedPlan& plan, const Launch& launch, int64_t elements);

}  // namespace mge::ops
