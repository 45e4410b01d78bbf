// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations of fused kernels. Their code is compiled at run time, by a compiler that only has the
// headers of kernel/cuda and kernel/scalar. It contains a program P:
//
//     using Result = ...;  // what is stored
//     // Elements `at` … of the result.
//     template <int pack> static void load(const FusedArguments&, int64_t at, Result (&v)[pack]);

#include "libmge/kernel/cuda/converted.cuh"
#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/fused.h"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// A step's result as an operand of others: rounded to the type of a tensor of T.
template <class T, class Result>
MGE_DEVICE Scalar<Computed<T>> register_of(Result result) {
    return Scalar<Computed<T>>::of(widen(stored<T>(result)));
}
template <class T>
MGE_DEVICE Scalar<Computed<T>> constant_register(unsigned long long bits) {
    return Scalar<Computed<T>>::of(
        widen(stored<T>(Scalar<Computed<T>>(__longlong_as_double((long long)bits)))));
}
template <class To, class From>
MGE_DEVICE Scalar<Computed<To>> converted_register(Scalar<From> x) {
    return load_scalar(converted<To>(x.v));
}
MGE_DEVICE Mask mask_of(Scalar<uint8_t> x) { return {x.v != 0}; }

// Consecutive elements of an input.
template <class T, int pack>
MGE_DEVICE Pack<T, pack> pack_at(const void* in, int64_t at) {
    return *reinterpret_cast<const Pack<T, pack>*>(static_cast<const T*>(in) + at);
}

// All elements, `pack` at once as long as there are packs.
template <class P, int pack>
MGE_DEVICE void run_fused(const FusedArguments& x) {
    auto* y = static_cast<typename P::Result*>(x.out);
    if constexpr (pack > 1)
        for (int64_t i = first_piece(); i < x.packs; i += piece_step()) {
            Pack<typename P::Result, pack> result;
            P::template load<pack>(x, i * pack, result.v);
            reinterpret_cast<Pack<typename P::Result, pack>*>(y)[i] = result;
        }
    for (int64_t i = x.packs * pack + first_piece(); i < x.numel; i += piece_step()) {
        typename P::Result one[1];
        P::template load<1>(x, i, one);
        y[i] = one[0];
    }
}

}  // namespace mge::cuda
