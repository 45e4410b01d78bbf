// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert.cuda.h"

#include "libmge/kernel/cuda/converted.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// 16 bytes of the larger type.
template <class From, class To>
inline constexpr int converted_size = pack_size<From> < pack_size<To> ? pack_size<From> : pack_size<To>;

// The first `packs` packs, and what is behind them one by one.
template <class From, class To>
__global__ void convert_packs(const From* x, To* y, int64_t n, int64_t packs) {
    constexpr int size = converted_size<From, To>;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        Pack<From, size> from = reinterpret_cast<const Pack<From, size>*>(x)[i];
        Pack<To, size> to;
#pragma unroll
        for (int k = 0; k < size; ++k) to.v[k] = converted<To>(from.v[k]);
        reinterpret_cast<Pack<To, size>*>(y)[i] = to;
    }
    for (int64_t i = packs * size + first_piece(); i < n; i += piece_step()) y[i] = converted<To>(x[i]);
}

template <class From, class To>
void convert_as(Stream stream, const void* x, void* y, int64_t n) {
    int64_t packs = is_aligned(x) && is_aligned(y) ? n / converted_size<From, To> : 0;
    launch(convert_packs<From, To>, grid_for(packs ? packs : n), block_threads, 0, stream,
           static_cast<const From*>(x), static_cast<To*>(y), n, packs);
}

}  // namespace

void convert(Stream stream, int from, int to, const void* x, void* y, int64_t n) {
    dispatch_type(from, AllTypes{}, [&]<class From>(From*) {
        dispatch_type(to, AllTypes{}, [&]<class To>(To*) { convert_as<From, To>(stream, x, y, n); });
    });
}

}  // namespace mge::cuda
