// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.cuda.cuh"

namespace mge::ops {
struct Max;
struct Min;
}  // namespace mge::ops

namespace mge::cuda {
namespace {

// NaN where there is one.
template <bool is_max>
struct Extreme {
    static constexpr bool is_rounded = false;
    template <class A>
    static MGE_DEVICE A combine(A a, A b) {
        return (is_max ? b > a : b < a) || b != b ? b : a;
    }
    template <class A>
    static MGE_DEVICE A identity() {
        if constexpr (is_integer<A>)
            return is_max ? Limits<A>::lowest : Limits<A>::highest;
        else
            return __uint_as_float(is_max ? 0xff800000 : 0x7f800000);  // infinite
    }
};

}  // namespace

template <>
ReduceKernels reduce_kernels<ops::Max>() {
    return reductions_of<Extreme<true>>(AllTypes{});
}
template <>
ReduceKernels reduce_kernels<ops::Min>() {
    return reductions_of<Extreme<false>>(AllTypes{});
}

}  // namespace mge::cuda
