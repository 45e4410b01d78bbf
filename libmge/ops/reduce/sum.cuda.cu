// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::ops {
struct Mean;
struct Sum;
}  // namespace mge::ops

namespace mge::cuda {
namespace {

struct Addition {
    static constexpr bool is_rounded = true;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (Scalar<A>::of(a) + Scalar<A>::of(b)).v;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        return 0;
    }
};

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
