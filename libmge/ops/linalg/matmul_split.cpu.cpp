// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/product/split_matrices.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"
#include "libmge/ops/linalg/matmul_algorithms.h"

namespace mge::ops {
namespace {

// Multiplications with each element that is packed: with fewer, packing costs what the product saves. A
// constant matrix is already in the order in which it is packed.
constexpr int64_t fewest_per_element = 160, fewest_per_constant = 44;
// Rows are computed by 32, and shorter sums take less time than to store them.
constexpr int64_t fewest_rows = 64, least_depth = 64;

struct State {
    MatmulGeometry g;
    cpu::SplitMatrices product;
    std::shared_ptr<const onednn::PackedWeight> weight;  // null: b changes
};

Support supports(const Problem& p) {
    if (!cpu::has_split_products()) return {"no matrix instructions"};
    if (Support plain = is_plain_f32(p); !plain) return plain;
    auto g = geometry_of(p);
    if (g.batches() != 1) return {"one product only"};
    const bool is_constant = p.is_constant(1);
    const int64_t fewest = is_constant ? fewest_per_constant : fewest_per_element;
    if (g.m * g.n < fewest * (g.m + g.n) || g.k < cpu::split_depth) return {"packing costs what it saves"};
    if (is_constant && (g.m < fewest_rows || g.k < least_depth)) return {"few rows or short sums"};
    return supported;
}

// Blocks of 16 columns, row by row.
onednn::MemoryDesc column_blocks(const MatmulGeometry& g) {
    return onednn::tagged({g.k, g.n}, dnnl_BA16a16b);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = geometry_of(p);
    State s{g, {g.m, g.n, g.k, p.as<Matmul::Params>().activation, p.threads}, nullptr};
    PackedInputs packed;
    if (p.is_constant(1)) {
        const int64_t dims[]{g.k, g.n}, strides[]{g.b_stride_k, g.b_stride_n};
        const auto used = column_blocks(g);
        s.weight = onednn::pack_weight(onednn::strided(dims, strides, dnnl_f32), used, context.constants[1],
                                       p.threads, packing_of(context));
        packed = {{{s.weight->data(), used.bytes()}}, 1u << 1};
    }
    const size_t workspace = s.product.workspace();
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

cpu::SplitSource columns_of(const State& s, const float* b) {
    constexpr int64_t block = cpu::SplitSource::block;
    auto& g = s.g;
    if (!s.weight) return {b, g.n, g.k, g.b_stride_n, g.b_stride_k};
    const int64_t block_stride = round_up(g.k, block) * block;
    return {static_cast<const float*>(s.weight->data()), g.n, g.k, 1, block, block_stride};
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto& g = s.g;
    constexpr int64_t block = cpu::SplitSource::block;
    cpu::multiply_split(s.product,
                        {{launch.in<float>(0), g.m, g.k, g.a_stride_m, g.a_stride_k},
                         columns_of(s, launch.in<float>(1)),
                         {launch.in_if_given<float>(2),
                          {launch.in_if_given<float>(3), g.n, block},
                          {launch.out<float>(0), g.n, block}}},
                        launch.workspace);
}

}  // namespace

Algorithm split_matmul() { return {"split", supports, prepare, run, {.accuracy_depends_on_batch = true}}; }

}  // namespace mge::ops
