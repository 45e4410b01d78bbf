// SPDX-License-Identifier: Apache-2.0
// bf16 rows times a constant matrix of bf16, which is packed ahead in blocks of columns.
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/product/bf16_product.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"
#include "libmge/ops/linalg/matmul_algorithms.h"

namespace mge::ops {
namespace {

// With fewer rows, reading the matrix takes the time.
constexpr int64_t fewest_rows = 8;
// Packed blocks are filled up to a multiple of it.
constexpr int64_t packed_depth = 32;

struct State {
    cpu::Bf16Product product;
    DType bias;
    int threads;
    std::shared_ptr<const onednn::PackedWeight> weight;
};

Support supports(const Problem& p) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    if (Support plain = plain_layouts(p); !plain) return plain;
    const DType y = p.outputs[0].dtype;
    if (p.inputs[0].dtype != DType::bf16 || p.inputs[1].dtype != DType::bf16) return {"bf16 factors only"};
    if (y != DType::bf16 && y != DType::f32) return {"results of bf16 or f32 only"};
    for (size_t i = 2; i < p.inputs.size(); ++i)
        if (p.has_input(i) && p.inputs[i].dtype != y) return {"bias and residual in the dtype of y only"};
    if (!p.is_constant(1)) return {"constant matrices only"};
    auto g = geometry_of(p);
    if (g.batches() != 1 || g.a_stride_k != 1) return {"one product of rows only"};
    if (g.m < fewest_rows || g.n == 0) return {"few rows"};
    return g.k > 0 && g.k % packed_depth == 0 ? supported : Support{"multiples of 32 products only"};
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = geometry_of(p);
    const int64_t dims[]{g.k, g.n}, strides[]{g.b_stride_k, g.b_stride_n};
    const auto used = onednn::tagged({g.k, g.n}, dnnl_BA16a32b2a, dnnl_bf16);
    State s{.product = {.tiles = cpu::LineTiles(1, g.m, cpu::bf16_rows),
                        .rows = g.m,
                        .line_stride = g.m * g.a_stride_m,
                        .row_stride = g.a_stride_m,
                        .parts = {0},
                        .part = g.k,
                        .depth = packed_depth,
                        .columns = g.n,
                        .finish = {p.outputs[0].dtype, p.as<Matmul::Params>().activation}},
            .bias = p.has_input(2) ? p.inputs[2].dtype : DType::none,
            .threads = p.threads,
            .weight = onednn::pack_weight(onednn::strided(dims, strides, dnnl_bf16), used,
                                          context.constants[1], p.threads, packing_of(context))};
    PackedInputs packed{{{s.weight->data(), used.bytes()}}, 1u << 1};
    const size_t workspace = size_t(s.product.bias_size()) * sizeof(float);
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* bias = static_cast<float*>(launch.workspace);
    cpu::pad_bias(s.product, s.bias, launch.in_if_given<void>(2), bias);
    cpu::multiply_bf16(s.product,
                       {.x = launch.in<uint16_t>(0),
                        .weight = static_cast<const uint16_t*>(s.weight->data()),
                        .bias = bias,
                        .residual = launch.in_if_given<void>(3),
                        .y = launch.outputs[0]},
                       s.threads);
}

}  // namespace

Algorithm tiles_matmul() { return {"amx_tiles", supports, prepare, run}; }

}  // namespace mge::ops
