// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/batch_norm/batch_norm.cuda.h"

#include "libmge/kernel/cuda/reduce/reduce.cuh"
#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

MGE_DEVICE int64_t channel_at(const BatchNorm& s, int64_t at) {
    split_index(at, s.pixels);
    return split_index(at, s.channels);
}

// The outputs of a channel except y, as RunningStatistics::store on the host.
template <class T>
MGE_DEVICE void store_statistics(const BatchNorm& s, const BatchNormTensors<T>& t, int64_t channel,
                                 double mean, double variance) {
    double running_mean = t.running_mean[channel], running_var = t.running_var[channel];
    if (!s.takes_batch) {
        mean = running_mean;
        variance = running_var;
    }
    t.saved_mean[channel] = float(mean);
    t.saved_inv_std[channel] = float(1 / ::sqrt(variance + s.epsilon));
    if (s.takes_batch) {
        double count = double(s.samples * s.pixels);
        // var·n/(n − 1): of one element the unbiased variance is not known, the biased one is 0
        double unbiased = variance * count / (count > 2 ? count - 1 : 1);
        running_mean = s.momentum * running_mean + (1 - s.momentum) * mean;
        running_var = s.momentum * running_var + (1 - s.momentum) * unbiased;
    }
    t.new_mean[channel] = float(running_mean);
    t.new_var[channel] = float(running_var);
}

// Sums of d and d², d being the distance from the channel's first element: near enough to the mean that
// little cancels, and x is read once.
template <class T>
struct Moments {
    using Value = Both<float>;
    using Total = Both<double>;
    BatchNorm s;
    BatchNormTensors<T> t;

    static MGE_DEVICE Value combine(Value a, Value b) { return a + b; }
    static MGE_DEVICE Total join(Total a, Total b) { return a + b; }
    static MGE_DEVICE Total widen(Value v) { return {double(v.a), double(v.b)}; }
    static MGE_DEVICE Total identity() { return {0, 0}; }

    MGE_DEVICE float pivot(int64_t channel) const { return to_float(t.x[channel * s.pixels]); }
    template <int pack>
    MGE_DEVICE void load(int64_t at, int64_t, int, Value (&v)[pack]) const {
        float x[pack];
        load_pack(t.x + at, x);
        bool is_same_for_all = s.pixels % pack == 0;
        float from = pivot(channel_at(s, at));
#pragma unroll
        for (int k = 0; k < pack; ++k) {
            if (!is_same_for_all && k > 0) from = pivot(channel_at(s, at + k));
            float distance = x[k] - from;
            v[k] = {distance, distance * distance};
        }
    }
    MGE_DEVICE void store(int64_t channel, Total total) const {
        double count = double(s.samples * s.pixels), distance = total.a / count;
        double variance = total.b / count - distance * distance;
        store_statistics(s, t, channel, double(pivot(channel)) + distance, variance < 0 ? 0 : variance);
    }
};

template <class T>
__global__ void keep_statistics(BatchNorm s, BatchNormTensors<T> t) {
    for (int64_t channel = first_piece(); channel < s.channels; channel += piece_step())
        store_statistics(s, t, channel, 0, 0);
}

template <class T, int pack>
__global__ void apply_statistics(BatchNorm s, BatchNormTensors<T> t) {
    int64_t packs = s.samples * s.channels * s.pixels / pack;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        int64_t c = channel_at(s, i * pack);
        float mean = t.saved_mean[c], factor = t.saved_inv_std[c] * t.scale[c], bias = t.bias[c], v[pack];
        load_pack(t.x + i * pack, v);
#pragma unroll
        for (int k = 0; k < pack; ++k) v[k] = (v[k] - mean) * factor + bias;
        store_pack(t.y + i * pack, v);
    }
}

// dx = scale·inv_std·(dy − [dbias + x̂·dscale]/n), the bracket only when the statistics were those of x
template <class T, int pack>
__global__ void apply_gradients(BatchNorm s, BatchNormGradients<T> t) {
    int64_t packs = s.samples * s.channels * s.pixels / pack;
    float share = 1 / float(s.samples * s.pixels);
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        int64_t c = channel_at(s, i * pack);
        float mean = t.mean[c], inv_std = t.inv_std[c], factor = t.scale[c] * inv_std;
        float shift = t.dbias ? t.dbias[c] * share : 0;
        float slope = t.dscale ? t.dscale[c] * share * inv_std : 0;
        float x[pack], v[pack];
        load_pack(t.x + i * pack, x);
        load_pack(t.dy + i * pack, v);
#pragma unroll
        for (int k = 0; k < pack; ++k) v[k] = factor * (v[k] - shift - (x[k] - mean) * slope);
        store_pack(t.dx + i * pack, v);
    }
}

// Packs are within a channel.
template <class T>
bool can_pack(const BatchNorm& s) {
    return s.pixels % pack_size<T> == 0;
}

}  // namespace

template <class T>
void normalize_batch(Stream stream, const BatchNorm& s, const BatchNormTensors<T>& t, void* workspace) {
    static_assert(sizeof(Both<double>) == norm_total_bytes);
    constexpr int pack = pack_size<T>;
    if (s.takes_batch)
        reduce<pack>(stream, Moments<T>{s, t}, s.geometry, is_aligned(t.x), workspace);
    else
        launch(keep_statistics<T>, grid_for(s.channels), block_threads, 0, stream, s, t);
    int64_t elements = s.samples * s.channels * s.pixels;
    if (elements == 0) return;
    if (can_pack<T>(s) && is_aligned(t.x) && is_aligned(t.y))
        return launch(apply_statistics<T, pack>, grid_for(elements / pack), block_threads, 0, stream, s, t);
    launch(apply_statistics<T, 1>, grid_for(elements), block_threads, 0, stream, s, t);
}
template void normalize_batch(Stream, const BatchNorm&, const BatchNormTensors<f16>&, void*);
template void normalize_batch(Stream, const BatchNorm&, const BatchNormTensors<bf16>&, void*);
template void normalize_batch(Stream, const BatchNorm&, const BatchNormTensors<float>&, void*);

template <class T>
void normalize_batch_backward(Stream stream, const BatchNorm& s, const BatchNormGradients<T>& t) {
    constexpr int pack = pack_size<T>;
    int64_t elements = s.samples * s.channels * s.pixels;
    if (elements == 0) return;
    if (can_pack<T>(s) && is_aligned(t.x) && is_aligned(t.dy) && is_aligned(t.dx))
        return launch(apply_gradients<T, pack>, grid_for(elements / pack), block_threads, 0, stream, s, t);
    launch(apply_gradients<T, 1>, grid_for(elements), block_threads, 0, stream, s, t);
}
template void normalize_batch_backward(Stream, const BatchNorm&, const BatchNormGradients<f16>&);
template void normalize_batch_backward(Stream, const BatchNorm&, const BatchNormGradients<bf16>&);
template void normalize_batch_backward(Stream, const BatchNorm&, const BatchNormGradients<float>&);

}  // namespace mge::cuda
