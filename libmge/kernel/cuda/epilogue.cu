// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/epilogue.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// Packs of elements that share one value of the bias (`across`: 0), or have one each, one after the other
// (1).
template <class T>
__global__ void finish_packs(EpilogueArguments x, int across, Divisor inner, Divisor channels) {
    constexpr int size = pack_size<T>;
    using Loaded = Pack<T, size>;
    auto *sums = static_cast<const Loaded*>(x.sums), *residual = static_cast<const Loaded*>(x.residual);
    auto* bias = static_cast<const T*>(x.bias);
    for (int64_t i = first_piece(); i < x.numel / size; i += piece_step()) {
        Loaded v = sums[i], added, more;
        T one;
        if (bias) {
            int64_t channel = long_quotient(i * size, inner);
            channel -= long_quotient(channel, channels) * channels.value;
            if (across)
                added = *reinterpret_cast<const Loaded*>(bias + channel);
            else
                one = bias[channel];
        }
        if (residual) more = residual[i];
#pragma unroll
        for (int k = 0; k < size; ++k) {
            float sum = widen(v.v[k]);
            if (bias) sum += widen(across ? added.v[k] : one);
            if (residual) sum += widen(more.v[k]);
            v.v[k] = from_float<T>(activated(x.activation, sum));
        }
        static_cast<Loaded*>(x.y)[i] = v;
    }
}

template <class T>
__global__ void finish(EpilogueArguments x) {
    auto *sums = static_cast<const T*>(x.sums), *bias = static_cast<const T*>(x.bias);
    auto* residual = static_cast<const T*>(x.residual);
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        float sum = widen(sums[i]);
        if (bias) sum += widen(bias[i / x.inner % x.channels]);
        if (residual) sum += widen(residual[i]);
        static_cast<T*>(x.y)[i] = from_float<T>(activated(x.activation, sum));
    }
}

}  // namespace

template <class T>
void run_epilogue(Stream stream, const EpilogueArguments& x) {
    constexpr int size = pack_size<T>;
    const int across = x.inner == 1 ? 1 : 0;
    bool fits = x.numel % size == 0 && is_aligned(x.sums) && is_aligned(x.residual) && is_aligned(x.y) &&
                x.inner >> 31 == 0 && x.channels >> 31 == 0;
    if (x.bias) fits &= across ? x.channels % size == 0 && is_aligned(x.bias) : x.inner % size == 0;
    if (fits)
        return launch(finish_packs<T>, grid_for(x.numel / size), block_threads, 0, stream, x, across,
                      divisor_of(x.inner), divisor_of(x.channels));
    launch(finish<T>, grid_for(x.numel), block_threads, 0, stream, x);
}
template void run_epilogue<f16>(Stream, const EpilogueArguments&);
template void run_epilogue<bf16>(Stream, const EpilogueArguments&);
template void run_epilogue<float>(Stream, const EpilogueArguments&);

}  // namespace mge::cuda
