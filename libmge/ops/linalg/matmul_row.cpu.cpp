// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/linalg/matmul_algorithms.h"

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/packed_row.h"
#include "libmge/kernel/cpu/product/row_times_weight.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"

namespace mge::ops {
namespace {

// Measured limits from which on loops without packing (`small`) are as fast or faster: up to a quarter of a
// panel, and from this many elements on, which exceed the L2 cache. A panel is one stream of memory, where
// those loops read many. With shorter vectors than those of AVX-512 this is not measured where rows are
// contiguous.
constexpr int64_t few_columns = cpu::panel_columns / 4;
constexpr int64_t many_elements = 1 << 19;

Support supports(const Problem& p) {
    if (Support constant = has_constant_matrix_of_f32(p); !constant) return constant;
    auto g = geometry_of(p);
    if (g.m != 1 || g.batches() != 1 || g.a_stride_k != 1) return {"one dense row only"};
    if (g.n == 0 || g.k == 0) return {"an empty operand"};
    if (g.n <= few_columns) return {"few columns, most of a panel would be empty"};
    const bool reads_many = g.b_stride_k == 1 || cpu_isa() >= Isa::avx512;
    if (g.n * g.k > (reads_many ? many_elements : cpu::row_weight_limit))
        return {"a matrix that no cache keeps"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto g = geometry_of(context.problem);
    return cpu::prepare_row(
        {g.n, g.k, g.b_stride_k, g.b_stride_n, context.problem.as<Matmul::Params>().activation},
        context.constants[1], 1, context.problem.threads, packing_of(context));
}

void run(const Prepared& prepared, const Launch& launch) {
    cpu::run_row(prepared,
                 {launch.in<float>(0), launch.in_if_given<float>(2), launch.in_if_given<float>(3),
                  launch.out<float>(0)},
                 launch.threads);
}

}  // namespace

Algorithm row_matmul() { return {"row", supports, prepare, run}; }

}  // namespace mge::ops
