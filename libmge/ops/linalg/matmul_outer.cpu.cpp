// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul_algorithms.h"

#include <algorithm>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/outer_product.h"
#include "libmge/kernel/cpu/product/product_epilogue.h"
#include "libmge/ops/linalg/constant_matrix.h"

namespace mge::ops {
namespace {

// The library takes up to twice as long where one side of y is short, as in a Transformer's layers: measured
// from 256 to 3072 rows and columns on AVX2. With less of either, and where both are long, it is as fast.
constexpr int64_t enough_extent = 192, long_extent = 512, enough_depth = 512;

struct State {
    cpu::OuterProduct shape;
    Activation activation;
    int threads;
};

Support supports(const Problem& p) {
    if (Support plain = is_plain_f32(p); !plain) return plain;
    if (cpu_isa() >= Isa::avx512) return {"not measured with vectors of 512 bits"};
    auto g = geometry_of(p);
    if (g.batches() != 1 || g.a_stride_m != 1 || g.b_stride_n != 1) return {"rows of both factors only"};
    if (std::min(g.m, g.n) < enough_extent || g.k < enough_depth) return {"a small matrix"};
    if (std::min(g.m, g.n) > long_extent) return {"the library is as fast where both sides are long"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = geometry_of(p);
    State state{{g.m, g.n, g.k, g.a_stride_k, g.b_stride_k}, p.as<Matmul::Params>().activation, p.threads};
    const int64_t floats = state.shape.b_floats() + state.threads * state.shape.a_floats();
    return Prepared::make(state, size_t(floats) * sizeof(float));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const auto& shape = s.shape;
    auto* packed_b = static_cast<float*>(launch.workspace);
    float *scratch = packed_b + shape.b_floats(), *y = launch.out<float>(0);
    const float *a = launch.in<float>(0), *b = launch.in<float>(1), *residual = launch.in_if_given<float>(3);
    const bool is_in_place = residual == y;
    const cpu::ProductEpilogue epilogue{launch.in_if_given<float>(2), is_in_place ? nullptr : residual,
                                        s.activation, shape.n, y};
    for (int64_t block = 0; block < shape.blocks(); ++block) {
        par_for(s.threads, shape.rows(block), 1, [&](int64_t first, int64_t last) {
            cpu::pack_outer_rows(shape, b, block, first, last, packed_b);
        });
        in_parts(s.threads, shape.m, 1, [&](int thread, int64_t first, int64_t last) {
            const bool is_first = block == 0 && !is_in_place;
            cpu::outer_product(shape, {a, packed_b, y, scratch + thread * shape.a_floats(), is_first}, block,
                               first, last);
            if (block + 1 == shape.blocks()) cpu::finish(epilogue, {first, last, 0, shape.n});
        });
    }
}

}  // namespace

Algorithm outer_matmul() { return {"outer", supports, prepare, run}; }

}  // namespace mge::ops
