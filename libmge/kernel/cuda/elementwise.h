// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise kernels as their callers see them: by operator, from x.cuda.cu.

#include "libmge/kernel/cuda/index_space.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

inline constexpr int max_operands = 2;
inline constexpr int functor_bytes = 24;

// NumPy broadcasting as loops (kernel/loop_nest.h): the position of each operand's value for an element of
// the output. Operators with one operand have it twice.
struct ElementwiseArguments {
    const void* in[max_operands];
    void* out;
    IndexSpace<max_operands> elements;
    // The same by packs of 16 bytes; of no elements where these do not suit. Operands that run along the
    // innermost axis (1) have a pack there, others (0) one value.
    IndexSpace<max_operands> packs;
    int runs_along[max_operands];
    alignas(8) unsigned char functor[functor_bytes];  // its parameters
};

using ElementwiseKernel = void (*)(Stream, const ElementwiseArguments&);
// By type; null for unsupported types.
struct ElementwiseKernels {
    ElementwiseKernel by_type[type_count] = {};
};

// Specialized by operator, one line each. Ends the link where one is forgotten.
template <class Operator>
struct Elementwise {
    static const ElementwiseKernels kernels;
};

}  // namespace mge::cuda
