// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/reduce/fixed_sums.h"
#include "libmge/kernel/cuda/together.cuh"

namespace mge::cuda {

// Steps per one, a power of two. Call after find_largest.
MGE_DEVICE double steps_of(const FixedSums& s) {
    int exponent = int(*s.largest >> 23) - 126;  // the largest term is below two to this
    return __longlong_as_double((long long)(1023 + s.bits - exponent) << 52);
}
MGE_DEVICE void add_to(const FixedSums& s, double steps, int64_t at, float term) {
    atomicAdd(s.sums + at, (unsigned long long)(long long)::rint(double(term) * steps));
}
// NaN everywhere if a term is NaN or infinite.
MGE_DEVICE float sum_at(const FixedSums& s, double steps, int64_t at) {
    bool is_finite = *s.largest >> 23 != 255;
    return is_finite ? float(double((long long)s.sums[at]) / steps) : __uint_as_float(0x7fc00000);
}

struct Higher {
    MGE_DEVICE unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};
template <class T>
__global__ void find_largest(FixedSums s, const T* terms, int64_t n) {
    unsigned largest = 0;
    for (int64_t i = first_piece(); i < n; i += piece_step())
        largest = Higher()(largest, __float_as_uint(fabsf(to_float(terms[i]))));
    largest = across_lanes(largest, 32, Higher());
    if (threadIdx.x % 32 == 0) atomicMax(s.largest, largest);
}
template <class T>
__global__ void write_sums(FixedSums s, T* y) {
    double steps = steps_of(s);
    for (int64_t i = first_piece(); i < s.n; i += piece_step()) y[i] = from_float<T>(sum_at(s, steps, i));
}

template <class T>
void launch_find_largest(Stream stream, const FixedSums& s, const T* terms, int64_t n) {
    constexpr int64_t pieces_of_thread = 8;
    launch(find_largest<T>, grid_for((n + pieces_of_thread - 1) / pieces_of_thread), block_threads, 0, stream,
           s, terms, n);
}
template <class T>
void launch_write_sums(Stream stream, const FixedSums& s, T* y) {
    launch(write_sums<T>, grid_for(s.n), block_threads, 0, stream, s, y);
}

}  // namespace mge::cuda
