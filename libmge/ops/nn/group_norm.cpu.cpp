// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/row_norm-inl.h"

namespace mge::ops {

KernelList kernels(Cpu, GroupNorm);          // for in_f32
KernelList kernels(Cpu, GroupNormBackward);  // for in_f32

namespace {

using row_norm::add_statistics_gradients, row_norm::optional_input, row_norm::row_grain,
    row_norm::supports_simd;

// x seen as (samples, groups, channels of a group, pixels); a row is one group of one sample.
struct State {
    int64_t samples = 1, groups = 1, channels = 1, pixels = 1;
    float epsilon = 0;
    DType dtype = DType::f32;

    int64_t rows() const { return samples * groups; }
    int64_t row_size() const { return channels * pixels; }
    int64_t factors() const { return groups * channels; }
    int64_t run_size() const { return pixels; }
    // Without pixels there is nothing to walk along, however many channels there are.
    int64_t filled_channels() const { return pixels ? channels : 0; }
    // The first channel of a row, counted over all groups.
    int64_t first_channel(int64_t row) const { return row % groups * channels; }
    // Which factor element i of a row has.
    auto factors_of(int64_t row) const {
        return [first = first_channel(row), this](int64_t i) { return first + i / pixels; };
    }
    template <class Fn>
    void for_each_run(int64_t channel, Fn&& fn) const {
        for (int64_t sample = 0; sample < samples; ++sample)
            fn((sample * factors() + channel) * pixels, sample * groups + channel / channels);
    }
};

State view(const TensorSpec& x, int64_t groups) {
    State state{x.shape[0], groups, x.shape[1] / groups, 1, 0, x.dtype};
    for (int i = 2; i < x.shape.rank(); ++i) state.pixels *= x.shape[i];
    return state;
}

// --- forward: inputs x, weight, bias; outputs y, mean, inv_std ---

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<GroupNorm::Params>();
    State state = view(context.problem.inputs[0], params.groups);
    state.epsilon = float(params.epsilon);
    return Prepared::make(state);
}

void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    const float *weight = optional_input<float>(launch, 1), *bias = optional_input<float>(launch, 2);
    par_for(launch.threads, s.rows(), row_grain(s), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const float* x = launch.in<float>(0) + row * s.row_size();
            float* y = launch.out<float>(0) + row * s.row_size();
            cpu::Moments moments = kernels.moments(x, s.row_size());
            if (!std::isfinite(moments.variance)) {
                row_norm::normalize<float>(launch, row, s.row_size(), s.epsilon, s.factors_of(row));
                continue;
            }
            float inv_std = 1 / std::sqrt(moments.variance + s.epsilon);
            for (int64_t c = 0; c < s.filled_channels(); ++c) {
                int64_t channel = s.first_channel(row) + c;
                float scale = weight ? inv_std * weight[channel] : inv_std;
                kernels.scale_around(x + c * s.pixels, y + c * s.pixels, s.pixels, moments.mean, scale,
                                     bias ? bias[channel] : 0);
            }
            launch.out<float>(1)[row] = moments.mean;
            launch.out<float>(2)[row] = inv_std;
        }
    });
}

constexpr Algorithm forward_algorithms[] = {
    {"simd_rows", supports_simd, prepare, run_simd},
    cpu::in_f32<Cpu, GroupNorm>(),
    {"reference", plain_layouts, prepare, row_norm::run_reference<State>, {.naive = true}},
};

// --- backward: inputs x, dy, mean, inv_std, weight, dmean, dinv_std; outputs dx, dweight, dbias ---

Prepared prepare_backward(const PrepareContext& context) {
    return Prepared::make(
        view(context.problem.inputs[0], context.problem.as<GroupNormBackward::Params>().groups));
}

void input_gradient_row_simd(const State& s, const Launch& launch, int64_t row) {
    auto& kernels = cpu::row_kernels();
    int64_t at = row * s.row_size();
    const float *x = launch.in<float>(0) + at, *dy = launch.in<float>(1) + at;
    const float* weight = optional_input<float>(launch, 4);
    float mean = launch.in<float>(2)[row], inv_std = launch.in<float>(3)[row];
    auto weight_of = [&](int64_t c) { return weight ? weight[s.first_channel(row) + c] : 1.0F; };
    // A weight is the same for a channel's pixels: the sums of a channel are scaled after they are made.
    cpu::GradientSums sums{0, 0};
    for (int64_t c = 0; c < s.filled_channels(); ++c) {
        auto part =
            kernels.gradient_sums(x + c * s.pixels, dy + c * s.pixels, s.pixels, mean, inv_std, nullptr);
        sums.grad += weight_of(c) * part.grad;
        sums.grad_normalized += weight_of(c) * part.grad_normalized;
    }
    add_statistics_gradients(launch, row, sums.grad, sums.grad_normalized);
    // dx = inv_std·w·(dy − (Σg/w)/n − x̂·(Σg·x̂/w)/n) needs w ≠ 0, so the factor is taken apart:
    // dx = dy·(inv_std·w) + (x − mean)·slope + shift
    float slope = -inv_std * inv_std * sums.grad_normalized / float(s.row_size());
    float shift = -inv_std * sums.grad / float(s.row_size());
    float* dx = launch.out<float>(0) + at;
    for (int64_t c = 0; c < s.filled_channels(); ++c)
        kernels.weighted_sum(dy + c * s.pixels, x + c * s.pixels, dx + c * s.pixels, s.pixels,
                             {0, inv_std * weight_of(c)}, {mean, slope}, shift);
}

void run_backward_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    par_for(launch.threads, s.rows(), row_grain(s), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) input_gradient_row_simd(s, launch, row);
    });
    int64_t channel_size = s.samples * s.pixels;
    par_for(launch.threads, s.factors(), parallel_grain / (channel_size + 1) + 1,
            [&](int64_t begin, int64_t end) {
                for (int64_t channel = begin; channel < end; ++channel) {
                    cpu::GradientSums sums{0, 0};
                    s.for_each_run(channel, [&](int64_t at, int64_t row) {
                        auto part = kernels.gradient_sums(launch.in<float>(0) + at, launch.in<float>(1) + at,
                                                          s.pixels, launch.in<float>(2)[row],
                                                          launch.in<float>(3)[row], nullptr);
                        sums.grad += part.grad;
                        sums.grad_normalized += part.grad_normalized;
                    });
                    launch.out<float>(1)[channel] = sums.grad_normalized;
                    launch.out<float>(2)[channel] = sums.grad;
                }
            });
}

constexpr Algorithm backward_algorithms[] = {
    {"simd_rows", supports_simd, prepare_backward, run_backward_simd},
    cpu::in_f32<Cpu, GroupNormBackward>(),
    {"reference", plain_layouts, prepare_backward, row_norm::run_backward_reference<State>, {.naive = true}},
};

}  // namespace

KernelList kernels(Cpu, GroupNorm) { return forward_algorithms; }
KernelList kernels(Cpu, GroupNormBackward) { return backward_algorithms; }

}  // namespace mge::ops
