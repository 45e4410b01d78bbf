// SPDX-License-Identifier: Apache-2.0
#pragma once
// What reductions on a GPU share: one algorithm on the host, and kernels by type from x.cuda.cu.

#include "libmge/kernel/cuda/reduce/reduce.h"

namespace mge::cuda {

// Of the totals that any of these reductions keeps.
inline constexpr size_t most_total_bytes = 16;

struct ReduceArguments {
    ReduceGeometry geometry;
    const void* x;
    void *y, *workspace;
    int x_type, y_type;  // numbers among AllTypes
    double divisor;      // of a mean: how many elements there are; otherwise 1
};
using ReduceKernel = void (*)(Stream, const ReduceArguments&);
// By type of x; null where the operator does not take one.
struct ReduceKernels {
    ReduceKernel by_type[type_count] = {};
};

// Specialized by operator, beside its kernels.
template <class Operator>
ReduceKernels reduce_kernels();

}  // namespace mge::cuda
