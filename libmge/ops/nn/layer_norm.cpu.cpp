// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/layer_norm_onednn.h"
#include "libmge/ops/nn/row_norm-inl.h"

namespace mge::ops {

KernelList kernels(Cpu, LayerNormBackward);  // for in_f32

namespace {

using row_norm::add_statistics_gradients, row_norm::optional_input, row_norm::row_grain,
    row_norm::supports_simd;

// x seen as (count, n), each row normalised on its own.
struct State {
    int64_t count = 1, n = 1;
    float epsilon = 0;
    DType dtype = DType::f32;

    int64_t rows() const { return count; }
    int64_t row_size() const { return n; }
    int64_t factors() const { return n; }
    static int64_t run_size() { return 1; }
    // Which factor element i of a row has.
    static auto factors_of(int64_t) {
        return [](int64_t i) { return i; };
    }
    template <class Fn>
    void for_each_run(int64_t factor, Fn&& fn) const {
        for (int64_t row = 0; row < count; ++row) fn(row * n + factor, row);
    }
};

State rows_of(const TensorSpec& x, int axes) {
    State state;
    for (int i = 0; i < x.shape.rank(); ++i)
        (i < x.shape.rank() - axes ? state.count : state.n) *= x.shape[i];
    state.dtype = x.dtype;
    return state;
}

// --- forward: inputs x, weight, bias; outputs y, mean, inv_std ---

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<LayerNorm::Params>();
    State state = rows_of(context.problem.inputs[0], params.axes);
    state.epsilon = float(params.epsilon);
    return Prepared::make(state);
}

void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    par_for(launch.threads, s.count, row_grain(s), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const float* x = launch.in<float>(0) + row * s.n;
            cpu::Moments moments = kernels.moments(x, s.n);
            if (!std::isfinite(moments.variance)) {
                row_norm::normalize<float>(launch, row, s.n, s.epsilon, State::factors_of(row));
                continue;
            }
            float inv_std = 1 / std::sqrt(moments.variance + s.epsilon);
            kernels.normalize(x, launch.out<float>(0) + row * s.n, s.n, moments.mean, inv_std,
                              optional_input<float>(launch, 1), optional_input<float>(launch, 2));
            launch.out<float>(1)[row] = moments.mean;
            launch.out<float>(2)[row] = inv_std;
        }
    });
}

// --- backward: inputs x, dy, mean, inv_std, weight; outputs dx, dweight, dbias ---

Prepared prepare_backward(const PrepareContext& context) {
    return Prepared::make(
        rows_of(context.problem.inputs[0], context.problem.as<LayerNormBackward::Params>().axes));
}

void run_backward_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    const float *x = launch.in<float>(0), *dy = launch.in<float>(1), *mean = launch.in<float>(2);
    const float *inv_std = launch.in<float>(3), *weight = optional_input<float>(launch, 4);
    par_for(launch.threads, s.count, row_grain(s), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            int64_t at = row * s.n;
            auto sums = kernels.gradient_sums(x + at, dy + at, s.n, mean[row], inv_std[row], weight);
            add_statistics_gradients(launch, row, sums.grad, sums.grad_normalized);
            kernels.normalize_backward(x + at, dy + at, launch.out<float>(0) + at, s.n, mean[row],
                                       inv_std[row], weight, sums, s.n);
        }
    });
    // Columns are split among the threads, so that each sums all rows, in their order.
    float *dweight = launch.out<float>(1), *dbias = launch.out<float>(2);
    par_for(launch.threads, s.n, parallel_grain / (s.count + 1) + 1, [&](int64_t begin, int64_t end) {
        std::fill(dweight + begin, dweight + end, 0.0F);
        std::fill(dbias + begin, dbias + end, 0.0F);
        for (int64_t row = 0; row < s.count; ++row) {
            int64_t at = row * s.n + begin;
            kernels.accumulate_factors(x + at, dy + at, end - begin, mean[row], inv_std[row], dweight + begin,
                                       dbias + begin);
        }
    });
}

constexpr Algorithm backward_algorithms[] = {
    {"simd_rows", supports_simd, prepare_backward, run_backward_simd},
    cpu::in_f32<Cpu, LayerNormBackward>(),
    {"reference", plain_layouts, prepare_backward, row_norm::run_backward_reference<State>, {.naive = true}},
};

}  // namespace

KernelList kernels(Cpu, LayerNorm) {
    static const Algorithm list[] = {
        {"simd_rows", supports_simd, prepare, run_simd},
        onednn_layer_norm(),
        cpu::in_f32<Cpu, LayerNorm>(),
        {"reference", plain_layouts, prepare, row_norm::run_reference<State>, {.naive = true}},
    };
    return list;
}
KernelList kernels(Cpu, LayerNormBackward) { return backward_algorithms; }

}  // namespace mge::ops
