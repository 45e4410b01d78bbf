// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/layer_norm_onednn.h"
#include "libmge/ops/nn/row_norm-inl.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using row_norm::add_statistics_gradients, row_norm::optional_input;

// x seen as (rows, n), each row normalised on its own.
struct State {
    int64_t rows = 1, n = 1;
    float epsilon = 0;
    DType dtype = DType::f32;

    // Which factor element i of a row has.
    static auto factors(int64_t) {
        return [](int64_t i) { return i; };
    }
};

State rows_of(const TensorSpec& x, int axes) {
    State state;
    for (int i = 0; i < x.shape.rank(); ++i) (i < x.shape.rank() - axes ? state.rows : state.n) *= x.shape[i];
    state.dtype = x.dtype;
    return state;
}

// Rows that are worth a thread.
int64_t row_grain(const State& s) { return std::max<int64_t>(1, parallel_grain / (s.n + 1)); }

Support supports_simd(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

// --- forward: inputs x, weight, bias; outputs y, mean, inv_std ---

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<LayerNorm::Params>();
    State state = rows_of(context.problem.inputs[0], params.axes);
    state.epsilon = float(params.epsilon);
    return Prepared::make(state);
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t row = 0; row < s.rows; ++row)
            row_norm::normalize<T>(launch, row, s.n, s.epsilon, s.factors(row));
    });
}

void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    par_for(launch.threads, s.rows, row_grain(s), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const float* x = launch.in<float>(0) + row * s.n;
            cpu::Moments moments = kernels.moments(x, s.n);
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

// dweight = Σ dy·x̂, dbias = Σ dy over the rows
template <class T>
void factor_gradients(const State& s, const Launch& launch, int64_t i) {
    double weight = 0, bias = 0;
    for (int64_t row = 0; row < s.rows; ++row) {
        double dy = float(launch.in<T>(1)[row * s.n + i]);
        weight += dy * (float(launch.in<T>(0)[row * s.n + i]) - launch.in<float>(2)[row]) *
                  launch.in<float>(3)[row];
        bias += dy;
    }
    launch.out<T>(1)[i] = T(float(weight));
    launch.out<T>(2)[i] = T(float(bias));
}

void run_backward_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t row = 0; row < s.rows; ++row)
            row_norm::input_gradient<T>(launch, row, s.n, s.factors(row));
        for (int64_t i = 0; i < s.n; ++i) factor_gradients<T>(s, launch, i);
    });
}

void run_backward_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& kernels = cpu::row_kernels();
    const float *x = launch.in<float>(0), *dy = launch.in<float>(1), *mean = launch.in<float>(2);
    const float *inv_std = launch.in<float>(3), *weight = optional_input<float>(launch, 4);
    par_for(launch.threads, s.rows, row_grain(s), [&](int64_t begin, int64_t end) {
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
    par_for(launch.threads, s.n, parallel_grain / (s.rows + 1) + 1, [&](int64_t begin, int64_t end) {
        std::fill(dweight + begin, dweight + end, 0.0F);
        std::fill(dbias + begin, dbias + end, 0.0F);
        for (int64_t row = 0; row < s.rows; ++row) {
            int64_t at = row * s.n + begin;
            kernels.accumulate_factors(x + at, dy + at, end - begin, mean[row], inv_std[row], dweight + begin,
                                       dbias + begin);
        }
    });
}

constexpr Algorithm backward_algorithms[] = {
    {"simd_rows", supports_simd, prepare_backward, run_backward_simd},
    cpu::in_f32<Cpu, LayerNormBackward>(),
    {"reference", plain_layouts, prepare_backward, run_backward_reference, {.naive = true}},
};

}  // namespace

KernelList kernels(Cpu, LayerNorm) {
    static const Algorithm list[] = {
        {"simd_rows", supports_simd, prepare, run_simd},
        onednn_layer_norm(),
        cpu::in_f32<Cpu, LayerNorm>(),
        {"reference", plain_layouts, prepare, run_reference, {.naive = true}},
    };
    return list;
}
KernelList kernels(Cpu, LayerNormBackward) { return backward_algorithms; }

}  // namespace mge::ops
