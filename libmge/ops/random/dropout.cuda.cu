// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/dropout.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/philox.cuh"

namespace mge::cuda {
namespace {

template <class T>
using Four = Pack<T, 4>;

template <class T>
__global__ void drop_elements(Drop drop, bool is_aligned, const T* x, T* y, T* mask) {
    PhiloxBlocks blocks(drop.state, drop.random_stream);
    for (int64_t b = first_piece(); 4 * b < drop.count; b += piece_step()) {
        PhiloxWords words = blocks[b];
        const unsigned bits[4] = {words.w0, words.w1, words.w2, words.w3};
        bool is_whole = is_aligned && 4 * b + 4 <= drop.count;
        Four<T> from, to, factors;
        if (is_whole) from = reinterpret_cast<const Four<T>*>(x)[b];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int64_t at = 4 * b + i;
            if (!is_whole && at < drop.count) from.v[i] = x[at];
            factors.v[i] = from_float<T>(bits[i] < drop.dropped ? 0.f : drop.scale);
            to.v[i] = from_float<T>(to_float(from.v[i]) * to_float(factors.v[i]));
            if (is_whole || at >= drop.count) continue;
            y[at] = to.v[i];
            mask[at] = factors.v[i];
        }
        if (!is_whole) continue;
        reinterpret_cast<Four<T>*>(y)[b] = to;
        reinterpret_cast<Four<T>*>(mask)[b] = factors;
    }
}

}  // namespace

void drop(Stream stream, int type, const Drop& drop, const void* x, void* y, void* mask) {
    uintptr_t addresses =
        reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(y) | reinterpret_cast<uintptr_t>(mask);
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) {
        launch(drop_elements<T>, grid_for((drop.count + 3) / 4), block_threads, 0, stream, drop,
               addresses % sizeof(Four<T>) == 0, static_cast<const T*>(x), static_cast<T*>(y),
               static_cast<T*>(mask));
    });
}

}  // namespace mge::cuda
