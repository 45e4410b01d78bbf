// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/names.h"
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::cuda {

template <>
ReduceKernels reduce_kernels<ops::Max>() {
    return reductions_of<Extreme<true>>(AllTypes{});
}
template <>
ReduceKernels reduce_kernels<ops::Min>() {
    return reductions_of<Extreme<false>>(AllTypes{});
}

}  // namespace mge::cuda
