// SPDX-License-Identifier: Apache-2.0
#pragma once
// The vocabulary of fused kernels. Their text is compiled while the program runs, by a compiler that finds no
// other headers than those of kernel/cuda and kernel/scalar.

#include "libmge/kernel/cuda/fused.h"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// A step's result as an operand of others: rounded to what a tensor of T would hold.
template <class T, class Result>
MGE_DEVICE Scalar<Computed<T>> register_of(Result result) {
    return Scalar<Computed<T>>::of(widen(stored<T>(result)));
}
template <class T>
MGE_DEVICE Scalar<Computed<T>> constant_register(unsigned long long bits) {
    return Scalar<Computed<T>>::of(
        widen(stored<T>(Scalar<Computed<T>>(__longlong_as_double((long long)bits)))));
}
MGE_DEVICE Mask mask_of(Scalar<uint8_t> x) { return {x.v != 0}; }
// To a float type, from anything.
template <class To, class From>
MGE_DEVICE Scalar<float> converted(Scalar<From> x) {
    return Scalar<float>::of(widen(narrow<To>(float(x.v))));
}

}  // namespace mge::cuda
