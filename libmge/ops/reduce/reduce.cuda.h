// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of reductions on a GPU: one algorithm on the host, and kernels by type from x.cuda.cu.

#include "libmge/kernel/cuda/reduce/reduce.h"

namespace mge::cuda {

// Largest size of a total in these reductions.
inline constexpr size_t most_total_bytes = 16;

struct ReduceArguments {
    ReduceGeometry geometry;
    const void* x;
    void *y, *workspace;
    int x_type, y_type;  // numbers among AllTypes
    double divisor;      // for a mean: the number of elements; otherwise 1
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
