// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/rows/row_kernels.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

KernelList kernels(Cpu, Softmax);  // for in_f32

namespace {

// The exponential of one element costs about this many plain ones.
constexpr int64_t exponential_cost = 4;

// x seen as (outer, n, inner), the softmax along n.
struct State {
    int64_t outer = 1, n = 1, inner = 1;
    bool log = false;
    DType dtype = DType::f32;
};

Prepared prepare(const PrepareContext& context) {
    auto& params = context.problem.as<Softmax::Params>();
    auto& spec = context.problem.inputs[0];
    int rank = spec.shape.rank(), axis = normalize_axis(Softmax::name, params.axis, rank);
    State state{1, spec.shape[axis], 1, params.log, spec.dtype};
    for (int i = 0; i < axis; ++i) state.outer *= spec.shape[i];
    for (int i = axis + 1; i < rank; ++i) state.inner *= spec.shape[i];
    if (state.n == 0) state.outer = 0;  // rows of nothing, and there may be more than can be counted
    return Prepared::make(state);
}

template <class T>
void reference_row(const T* x, T* y, int64_t n, int64_t stride, bool log) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
        double value = float(x[i * stride]);
        if (std::isnan(value) || value > top) top = value;
        if (std::isnan(top)) break;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += std::exp(float(x[i * stride]) - top);
    for (int64_t i = 0; i < n; ++i) {
        double shifted = float(x[i * stride]) - top;
        y[i * stride] = T(float(log ? shifted - std::log(sum) : std::exp(shifted) / sum));
    }
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    dispatch_dtype(s.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, s.outer * s.inner, parallel_grain / (exponential_cost * s.n + 1),
                [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                        int64_t at = i / s.inner * s.n * s.inner + i % s.inner;
                        reference_row(launch.in<T>(0) + at, launch.out<T>(0) + at, s.n, s.inner, s.log);
                    }
                });
    });
}

Support supports_simd(const Problem& problem) {
    if (problem.inputs[0].dtype != DType::f32) return {"only f32"};
    return plain_layouts(problem);
}

void run_simd(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& rows = cpu::row_kernels();
    int64_t block = s.n * s.inner;
    par_for(launch.threads, s.outer, parallel_grain / (exponential_cost * block + 1),
            [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                    const float* x = launch.in<float>(0) + i * block;
                    float* y = launch.out<float>(0) + i * block;
                    if (s.inner == 1)
                        rows.softmax(x, y, s.n, s.log);
                    else
                        rows.softmax_columns(x, y, s.n, s.inner, s.log);
                }
            });
}

constexpr Algorithm algorithms[] = {
    {"simd_rows", supports_simd, prepare, run_simd},
    cpu::in_f32<Cpu, Softmax>(),
    {"reference", plain_layouts, prepare, run_reference, {.naive = true}},
};

}  // namespace

KernelList kernels(Cpu, Softmax) { return algorithms; }

}  // namespace mge::ops
