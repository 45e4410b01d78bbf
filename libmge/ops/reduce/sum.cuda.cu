// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/names.h"
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::cuda {
namespace {

template <class... T>
ReduceKernels means_of(Types<T...>) {
    return {{run_reduction<Addition, Read<T>, float>...}};
}

}  // namespace

template <>
ReduceKernels reduce_kernels<ops::Sum>() {
    return reductions_of<Addition>(AllTypes{});
}
template <>
ReduceKernels reduce_kernels<ops::Mean>() {
    return means_of(AllTypes{});
}

}  // namespace mge::cuda
