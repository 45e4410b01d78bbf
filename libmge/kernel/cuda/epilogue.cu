// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/epilogue.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

// Packs of elements that share one value of the bias (`across`: 0), or have consecutive ones (1). Single ones
// (pack 1) may have sizes too large for a Divisor.
template <class T, int pack>
__global__ void finish(EpilogueArguments x, int across, Divisor inner, Divisor channels) {
    using Loaded = Pack<T, pack>;
    auto *sums = static_cast<const Loaded*>(x.sums), *residual = static_cast<const Loaded*>(x.residual);
    auto* bias = static_cast<const T*>(x.bias);
    auto channel_of = [&](int64_t element) {
        if constexpr (pack == 1) return element / x.inner % x.channels;
        int64_t row = long_quotient(element, inner);
        return row - long_quotient(row, channels) * channels.value;
    };
    for (int64_t i = first_piece(); i < x.numel / pack; i += piece_step()) {
        Loaded v = sums[i], added, more;
        if (bias) {
            int64_t channel = channel_of(i * pack);
            if (across) {
                added = *reinterpret_cast<const Loaded*>(bias + channel);
            } else {
                T one = bias[channel];
#pragma unroll
                for (int k = 0; k < pack; ++k) added.v[k] = one;
            }
        }
        if (residual) more = residual[i];
#pragma unroll
        for (int k = 0; k < pack; ++k) {
            float sum = widen(v.v[k]);
            if (bias) sum += widen(added.v[k]);
            if (residual) sum += widen(more.v[k]);
            v.v[k] = from_float<T>(activated(x.activation, sum));
        }
        static_cast<Loaded*>(x.y)[i] = v;
    }
}

template <class T>
void launch_finish(Stream stream, const EpilogueArguments& x) {
    constexpr int size = pack_size<T>;
    const int across = x.inner == 1 ? 1 : 0;
    bool fits = x.numel % size == 0 && is_aligned(x.sums) && is_aligned(x.residual) && is_aligned(x.y) &&
                x.inner >> 31 == 0 && x.channels >> 31 == 0;
    if (x.bias) fits &= across ? x.channels % size == 0 && is_aligned(x.bias) : x.inner % size == 0;
    if (fits)
        return launch(finish<T, size>, grid_for(x.numel / size), block_threads, 0, stream, x, across,
                      divisor_of(x.inner), divisor_of(x.channels));
    launch(finish<T, 1>, grid_for(x.numel), block_threads, 0, stream, x, across, Divisor{}, Divisor{});
}

}  // namespace

void run_epilogue(Stream stream, int type, const EpilogueArguments& arguments) {
    dispatch_type(type, FloatTypes{}, [&]<class T>(T*) { launch_finish<T>(stream, arguments); });
}

}  // namespace mge::cuda
