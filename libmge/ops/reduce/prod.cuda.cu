// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::ops {
struct Prod;
}  // namespace mge::ops

namespace mge::cuda {
namespace {

struct Multiplication {
    static constexpr bool is_rounded = true;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (Scalar<A>::of(a) * Scalar<A>::of(b)).v;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        return 1;
    }
};

}  // namespace

template <>
ReduceKernels reduce_kernels<ops::Prod>() {
    return reductions_of<Multiplication>(AllTypes{});
}

}  // namespace mge::cuda
