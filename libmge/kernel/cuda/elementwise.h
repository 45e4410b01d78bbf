// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise kernels as their callers see them: by operator, from x.cuda.cu.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

inline constexpr int max_operands = 2;
inline constexpr int functor_bytes = 16;

// What numpy's broadcasting comes down to (kernel/loop_nest.h): loops over elements, outermost first.
struct ElementwiseArguments {
    const void* in[max_operands];
    void* out;
    int64_t numel;
    int loops;  // 1 with strides 0 or 1: operands run along with the output or keep their value
    int64_t extent[max_axes];
    int64_t stride[max_operands][max_axes];           // in elements
    alignas(8) unsigned char functor[functor_bytes];  // its parameters
};

using ElementwiseKernel = void (*)(Stream, const ElementwiseArguments&);
// By type; null where the operator does not take one.
struct ElementwiseKernels {
    ElementwiseKernel by_type[type_count] = {};
};

// Specialized by operator, one line each. Ends the link where one is forgotten.
template <class Operator>
ElementwiseKernels elementwise_kernels();

}  // namespace mge::cuda
