// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of device code for the host's compiler. The threads of a block are fibers that run until they
// wait for each other; blocks run one after the other, so shared memory is static. It checks numbers, not
// speed or races.

#include <math.h>
#include <string.h>

#include <functional>

#include "cuda_runtime_api.h"

#define __global__
#define __host__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

namespace mge::cuda::emulated {

struct Index {
    unsigned x = 0, y = 0, z = 0;
};
// Text that is compiled while a test runs refers to these, in the test's program.
#define MGE_EMULATED __attribute__((visibility("default")))

// Those of the running thread.
extern MGE_EMULATED Index thread_index, block_index;
extern MGE_EMULATED dim3 block_size, grid_size;

enum class Wait : unsigned char { none, warp, block, done };
// The running thread goes on when all others of its warp or block have come here or ended.
MGE_EMULATED void wait(Wait kind);
// Every thread of the warp gives a value, and takes that of another lane.
MGE_EMULATED unsigned long long exchange(unsigned long long value, int lane);
// Every thread of the warp provides a value and gets the lanes for which `holds(theirs, its own)`.
using Relation = bool (*)(unsigned long long theirs, unsigned long long own);
MGE_EMULATED unsigned lanes_where(unsigned long long value, Relation holds);
MGE_EMULATED int lane();

cudaError_t launch(void* stream, dim3 grid, dim3 block, size_t shared, const std::function<void()>& body);

MGE_EMULATED void* dynamic_shared_memory();
template <class T>
T* dynamic_shared() {
    return static_cast<T*>(dynamic_shared_memory());
}

inline float from_f16(unsigned short bits) {
    _Float16 half;
    memcpy(&half, &bits, 2);
    return float(half);
}
inline unsigned short to_f16(float value) {
    _Float16 half = _Float16(value);
    unsigned short bits;
    memcpy(&bits, &half, 2);
    return bits;
}

template <class To, class From>
To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
template <class T>
T shuffle(T value, int from) {
    static_assert(sizeof(T) <= 8);
    unsigned long long slot = 0;
    memcpy(&slot, &value, sizeof value);
    slot = exchange(slot, from);
    memcpy(&value, &slot, sizeof value);
    return value;
}
template <class T, class Fn>
T replace(T* at, Fn fn) {
    T old = *at;
    *at = T(fn(old));
    return old;
}

}  // namespace mge::cuda::emulated

#define threadIdx (::mge::cuda::emulated::thread_index)
#define blockIdx (::mge::cuda::emulated::block_index)
#define blockDim (::mge::cuda::emulated::block_size)
#define gridDim (::mge::cuda::emulated::grid_size)
inline constexpr int warpSize = 32;

inline void __syncthreads() { mge::cuda::emulated::wait(mge::cuda::emulated::Wait::block); }
inline void __syncwarp(unsigned = ~0u) { mge::cuda::emulated::wait(mge::cuda::emulated::Wait::warp); }
inline void __threadfence() {}
inline void __threadfence_system() {}
template <class T>
T __shfl_sync(unsigned, T value, int from) {
    return mge::cuda::emulated::shuffle(value, from & 31);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
    return mge::cuda::emulated::shuffle(value, mge::cuda::emulated::lane() ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned by) {
    int lane = mge::cuda::emulated::lane(), from = lane + int(by);
    return mge::cuda::emulated::shuffle(value, from < 32 ? from : lane);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned by) {
    int lane = mge::cuda::emulated::lane(), from = lane - int(by);
    return mge::cuda::emulated::shuffle(value, from >= 0 ? from : lane);
}
inline unsigned __ballot_sync(unsigned, bool value) {
    return mge::cuda::emulated::lanes_where(value, [](auto theirs, auto) { return theirs != 0; });
}
template <class T>
unsigned __match_any_sync(unsigned, T value) {
    return mge::cuda::emulated::lanes_where(value, [](auto theirs, auto own) { return theirs == own; });
}
inline bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }

template <class T>
T atomicAdd(T* at, T value) {
    return mge::cuda::emulated::replace(at, [=](T old) { return old + value; });
}
template <class T>
T atomicMax(T* at, T value) {
    return mge::cuda::emulated::replace(at, [=](T old) { return old > value ? old : value; });
}
template <class T>
T atomicMin(T* at, T value) {
    return mge::cuda::emulated::replace(at, [=](T old) { return old < value ? old : value; });
}
template <class T>
T atomicExch(T* at, T value) {
    return mge::cuda::emulated::replace(at, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
    return mge::cuda::emulated::replace(at, [=](T old) { return old == expected ? value : old; });
}

template <class T>
T __ldg(const T* at) {
    return *at;
}
inline float __uint_as_float(unsigned x) { return mge::cuda::emulated::bits_as<float>(x); }
inline unsigned __float_as_uint(float x) { return mge::cuda::emulated::bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return mge::cuda::emulated::bits_as<float>(x); }
inline int __float_as_int(float x) { return mge::cuda::emulated::bits_as<int>(x); }
inline double __longlong_as_double(long long x) { return mge::cuda::emulated::bits_as<double>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)(a)*b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(__extension__(unsigned __int128)(a) * b >> 64);
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
