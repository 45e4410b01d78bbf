// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/names.h"
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::cuda {

template <>
ReduceKernels reduce_kernels<ops::Prod>() {
    return reductions_of<Multiplication>(AllTypes{});
}

}  // namespace mge::cuda
