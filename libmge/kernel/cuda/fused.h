// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of fused kernels, whose code is made at run time.

#include "libmge/kernel/cuda/divisor.h"
#include "libmge/kernel/cuda/reduce/reduce.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

inline constexpr int max_fused_reads = 16;

struct FusedArguments {
    const void* in[max_fused_reads];
    void* out;
    int64_t numel;
    int64_t packs;  // number of packs of elements that are loaded at once; 0 if addresses are not aligned
    int loops;      // loops over the result; outermost first
    int64_t extent[max_axes];
    Divisor divisor[max_axes];                  // by the extents, if offsets are small (FusedPlan)
    int64_t stride[max_fused_reads][max_axes];  // in elements; of reads that do not run along
};

// The result's elements are reduced into `out`.
struct FusedReduceArguments {
    FusedArguments program;
    ReduceGeometry geometry;
    void* totals;  // totals of pieces
    int y_type;    // a number among AllTypes
    double divisor;
};

}  // namespace mge::cuda
