// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_algorithms.h"

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/small_matmul.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {
namespace {

// Measured: one row is bound by reading b, where these loops are as good as any; with more rows a blocked
// kernel wins from about this many multiplications.
constexpr int64_t few_multiplications = 1 << 15;
// Work per thread that is worth a parallel region, two microseconds: a region of less saves no more than it
// costs, and the threads that wait for the next one keep their CPUs busy meanwhile.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    MatmulGeometry geometry;
    cpu::SmallMatmul matrix;
    Activation activation;
};

cpu::SmallMatmul matrix_of(const MatmulGeometry& g) {
    return {g.m, g.n, g.k, g.a_stride_m, g.a_stride_k, g.b_stride_k, g.b_stride_n};
}

Support supports(const Problem& p) {
    if (p.inputs[0].dtype != DType::f32) return {"f32 only"};
    if (Support plain = plain_layouts(p); !plain) return plain;
    auto g = matmul_geometry(p.as<Matmul::Params>(), p.inputs[0].shape, p.inputs[1].shape);
    if (!matrix_of(g).fits()) return {"both operands are transposed"};
    if (g.m > 1 && g.batches() * g.m * g.n * g.k > few_multiplications) return {"large enough for a library"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto& params = p.as<Matmul::Params>();
    auto g = matmul_geometry(params, p.inputs[0].shape, p.inputs[1].shape);
    return Prepared::make(State{g, matrix_of(g), params.activation});
}

void activate(Activation activation, float* y, const cpu::SmallMatmul& s, int64_t first, int64_t last) {
    if (activation == Activation::none) return;
    for (int64_t row = 0; row < s.m; ++row) cpu::activate(activation, y + row * s.n + first, last - first);
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto& g = state.geometry;
    const float* bias = launch.in_if_given<float>(2);
    const float* residual = launch.in_if_given<float>(3);
    int64_t matrix = g.m * g.n;
    for (int64_t batch = 0; batch < g.batches(); ++batch) {
        cpu::SmallMatmulData data{
            launch.in<float>(0) + g.a_offset(batch), launch.in<float>(1) + g.b_offset(batch), bias,
            residual ? residual + batch * matrix : nullptr, launch.out<float>(0) + batch * matrix};
        int64_t per_column = std::max<int64_t>(g.m * g.k, 1);
        par_for(launch.threads, g.n, grain_multiplications / per_column + 1,
                [&](int64_t first, int64_t last) {
                    cpu::small_matmul(state.matrix, data, first, last);
                    activate(state.activation, data.y, state.matrix, first, last);
                });
    }
}

}  // namespace

Algorithm small_matmul() { return {"small", supports, prepare, run}; }

}  // namespace mge::ops
