// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/nn/batch_norm/batch_norm_algorithms.h"
#include "libmge/ops/nn/batch_norm/running_statistics.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// x seen as (samples, channels, pixels): a channel is one row of pixels per sample.
struct State {
    int64_t samples = 1, channels = 1, pixels = 1;
    bool training = true;
    RunningStatistics statistics{};
    DType dtype = DType::f32;

    int64_t count() const { return samples * pixels; }
    int64_t row(int64_t sample, int64_t channel) const { return (sample * channels + channel) * pixels; }
};

State view(const TensorSpec& x) {
    State state{x.shape[0], x.shape[1]};
    for (int i = 2; i < x.shape.rank(); ++i) state.pixels *= x.shape[i];
    state.dtype = x.dtype;
    return state;
}

Support supports_simd(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

// Runs fn(channel) for all channels on all threads.
template <class Fn>
void for_channels(const State& s, int threads, Fn&& fn) {
    par_for(threads, s.channels, parallel_grain / (s.count() + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t channel = begin; channel < end; ++channel) fn(channel);
    });
}

// --- forward: inputs x, scale, bias, running_mean, running_var;
//     outputs y, new_mean, new_var, saved_mean, saved_inv_std ---

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<BatchNorm::Params>();
    State state = view(context.problem.inputs[0]);
    state.training = params.training;
    state.statistics = {params, state.count()};
    return Prepared::make(state);
}

template <class T>
ChannelStatistics measure(const State& s, const T* x, int64_t channel) {
    double mean = 0, variance = 0;
    for (int64_t n = 0; n < s.samples; ++n)
        for (int64_t i = 0; i < s.pixels; ++i) mean += float(x[s.row(n, channel) + i]);
    mean /= double(s.count());
    for (int64_t n = 0; n < s.samples; ++n)
        for (int64_t i = 0; i < s.pixels; ++i) {
            double deviation = float(x[s.row(n, channel) + i]) - mean;
            variance += deviation * deviation;
        }
    return {mean, variance / double(s.count())};
}

template <class T>
void normalize_channel(const State& s, const Launch& launch, int64_t channel) {
    const T* x = launch.in<T>(0);
    s.statistics.store(launch, channel, s.training ? measure(s, x, channel) : ChannelStatistics{});
    double mean = launch.out<float>(3)[channel], inv_std = launch.out<float>(4)[channel];
    for (int64_t n = 0; n < s.samples; ++n)
        for (int64_t i = s.row(n, channel); i < s.row(n, channel) + s.pixels; ++i)
            launch.out<T>(0)[i] = T(float((float(x[i]) - mean) * inv_std * launch.in<float>(1)[channel] +
                                          launch.in<float>(2)[channel]));
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t channel = 0; channel < s.channels; ++channel) normalize_channel<T>(s, launch, channel);
    });
}

// Each sample's row is measured on its own (twice read, from the cache) and the moments are merged:
// mean = Σ meanᵢ / N,  variance = Σ (varianceᵢ + (meanᵢ − mean)²) / N
ChannelStatistics measure_simd(const State& s, const float* x, int64_t channel) {
    auto& kernels = cpu::row_kernels();
    double mean = 0, variance = 0;
    for (int64_t n = 0; n < s.samples; ++n) {
        auto row = kernels.moments(x + s.row(n, channel), s.pixels);
        double shift = row.mean - mean;
        mean += shift / double(n + 1);
        variance +=
            (row.variance - variance) / double(n + 1) + shift * (shift / double(n + 1)) * n / double(n + 1);
    }
    return {mean, variance};
}

void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    const float* x = launch.in<float>(0);
    float* y = launch.out<float>(0);
    for_channels(s, launch.threads, [&](int64_t channel) {
        s.statistics.store(launch, channel, s.training ? measure_simd(s, x, channel) : ChannelStatistics{});
        float scale = launch.in<float>(1)[channel] * launch.out<float>(4)[channel];
        float mean = launch.out<float>(3)[channel], shift = launch.in<float>(2)[channel];
        for (int64_t n = 0; n < s.samples; ++n)
            kernels.scale_around(x + s.row(n, channel), y + s.row(n, channel), s.pixels, mean, scale, shift);
    });
}

// --- backward: inputs x, dy, scale, saved_mean, saved_inv_std; outputs dx, dscale, dbias ---

Prepared prepare_backward(const PrepareContext& context) {
    State state = view(context.problem.inputs[0]);
    state.training = context.problem.as<BatchNormBackward::Params>().training;
    return Prepared::make(state);
}

// x̂ = (x − mean)·inv_std:  dscale = Σ dy·x̂, dbias = Σ dy,
// dx = scale·inv_std·(dy − [dbias + x̂·dscale]/n), the bracket only when the statistics were those of x
template <class T>
void backward_channel(const State& s, const Launch& launch, int64_t channel) {
    const T *x = launch.in<T>(0), *dy = launch.in<T>(1);
    double mean = launch.in<float>(3)[channel], inv_std = launch.in<float>(4)[channel];
    double dscale = 0, dbias = 0;
    for (int64_t n = 0; n < s.samples; ++n)
        for (int64_t i = s.row(n, channel); i < s.row(n, channel) + s.pixels; ++i) {
            dscale += float(dy[i]) * (float(x[i]) - mean) * inv_std;
            dbias += float(dy[i]);
        }
    for (int64_t n = 0; n < s.samples; ++n)
        for (int64_t i = s.row(n, channel); i < s.row(n, channel) + s.pixels; ++i) {
            double grad = float(dy[i]);
            if (s.training) grad -= (dbias + (float(x[i]) - mean) * inv_std * dscale) / double(s.count());
            launch.out<T>(0)[i] = T(float(grad * launch.in<float>(2)[channel] * inv_std));
        }
    launch.out<float>(1)[channel] = float(dscale);
    launch.out<float>(2)[channel] = float(dbias);
}

void run_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t channel = 0; channel < s.channels; ++channel) backward_channel<T>(s, launch, channel);
    });
}

void run_backward_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    const float *x = launch.in<float>(0), *dy = launch.in<float>(1);
    for_channels(s, launch.threads, [&](int64_t channel) {
        float mean = launch.in<float>(3)[channel], inv_std = launch.in<float>(4)[channel];
        double dscale = 0, dbias = 0;
        for (int64_t n = 0; n < s.samples; ++n) {
            int64_t at = s.row(n, channel);
            auto sums = kernels.gradient_sums(x + at, dy + at, s.pixels, mean, inv_std, nullptr);
            dscale += sums.grad_normalized;
            dbias += sums.grad;
        }
        // dx = (dy − dbias/n)·factor + (x − mean)·slope
        float factor = launch.in<float>(2)[channel] * inv_std;
        double share = s.training ? 1 / double(s.count()) : 0;
        auto slope = float(-share * factor * dscale * inv_std), mean_grad = float(share * dbias);
        for (int64_t n = 0; n < s.samples; ++n) {
            int64_t at = s.row(n, channel);
            kernels.weighted_sum(dy + at, x + at, launch.out<float>(0) + at, s.pixels, {mean_grad, factor},
                                 {mean, slope}, 0);
        }
        launch.out<float>(1)[channel] = float(dscale);
        launch.out<float>(2)[channel] = float(dbias);
    });
}

}  // namespace

KernelList kernels(Cpu, BatchNorm) {
    static const Algorithm list[] = {
        {"simd_rows", supports_simd, prepare, run_simd},
        onednn_batch_norm(),
        cpu::in_f32<Cpu, BatchNorm>(),
        onednn_batch_norm_plain(),
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}},
    };
    return list;
}
KernelList kernels(Cpu, BatchNormBackward) {
    static const Algorithm list[] = {
        {"simd_rows", supports_simd, prepare_backward, run_backward_simd},
        batch_norm_backward_by_channels(),
        cpu::in_f32<Cpu, BatchNormBackward>(),
        {"reference", plain_layouts, prepare_backward, run_backward_reference, {.naive = true}},
    };
    return list;
}

}  // namespace mge::ops
