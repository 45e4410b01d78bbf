// SPDX-License-Identifier: Apache-2.0
// bf16 rows times a constant matrix of bf16, which is packed ahead in blocks of columns. Threads divide the
// blocks, so that each reads its part of the matrix once, or the rows where there are more of them.
#include "libmge/ops/linalg/matmul_algorithms.h"

#include <algorithm>

#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

constexpr int64_t columns = cpu::bf16_columns;
// With fewer rows, reading the matrix takes the time.
constexpr int64_t fewest_rows = 8;

struct State {
    MatmulGeometry g;
    Activation activation;
    DType y, bias;
    int threads;
    std::shared_ptr<const onednn::PackedWeight> weight;

    int64_t blocks() const { return (g.n + columns - 1) / columns; }
    int64_t tiles() const { return (g.m + cpu::bf16_rows - 1) / cpu::bf16_rows; }
    size_t bias_bytes() const { return size_t(blocks() * columns) * sizeof(float); }
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
    return g.k > 0 && g.k % cpu::bf16_depth == 0 ? supported : Support{"multiples of 32 products only"};
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    State s{.g = geometry_of(p),
            .activation = p.as<Matmul::Params>().activation,
            .y = p.outputs[0].dtype,
            .bias = p.has_input(2) ? p.inputs[2].dtype : DType::none,
            .threads = p.threads};
    const int64_t dims[]{s.g.k, s.g.n}, strides[]{s.g.b_stride_k, s.g.b_stride_n};
    auto used = onednn::tagged({s.g.k, s.g.n}, dnnl_BA16a32b2a, dnnl_bf16);
    s.weight = onednn::pack_weight(onednn::strided(dims, strides, dnnl_bf16), used, context.constants[1],
                                   p.threads, packing_of(context));
    PackedInputs packed{{{s.weight->data(), used.bytes()}}, 1u << 1};
    const size_t workspace = s.bias_bytes();
    return Prepared::make(std::move(s), workspace, std::move(packed));
}

// Padded to whole blocks; zeros without a bias.
void widen_bias(const State& s, const void* bias, float* to) {
    std::fill_n(to, s.blocks() * columns, 0.f);
    if (!bias) return;
    if (s.bias == DType::f32) return void(std::copy_n(static_cast<const float*>(bias), s.g.n, to));
    auto* halves = static_cast<const BFloat16*>(bias);
    for (int64_t i = 0; i < s.g.n; ++i) to[i] = float(halves[i]);
}

struct Part {
    int64_t begin, end;
};

// The tiles of rows are multiplied with one block after the other; meanwhile the next block is fetched.
void multiply_part(const State& s, const Launch& launch, const float* bias, Part tiles, Part blocks) {
    auto& g = s.g;
    auto* weight = static_cast<const uint16_t*>(s.weight->data());
    const auto at = [&](auto* tensor, int64_t element) {
        return tensor ? tensor + element * int64_t(size_of(s.y)) : tensor;
    };
    const auto* residual = static_cast<const char*>(launch.in_if_given<void>(3));
    auto* y = static_cast<char*>(launch.outputs[0]);
    const int64_t block_size = columns * g.k, count = tiles.end - tiles.begin;
    const int64_t step = columns * cpu::bf16_depth * int64_t(sizeof(uint16_t)) / count;
    const cpu::Bf16Finish finish{s.y, s.activation};
    cpu::Bf16Pending pending;
    int64_t rows = 0;  // that the tiles are prepared for
    for (int64_t block = blocks.begin; block < blocks.end; ++block)
        for (int64_t i = tiles.begin; i < tiles.end; ++i) {
            const int64_t first = g.m * i / s.tiles(), n = g.m * (i + 1) / s.tiles() - first;
            if (n != rows) cpu::begin_tiles(cpu::first_bf16_rows(n), n - cpu::first_bf16_rows(n));
            rows = n;
            const int64_t place = first * g.n + block * columns;
            const int64_t later = std::min(block + 1, blocks.end - 1) * block_size;
            cpu::multiply_bf16({.x = launch.in<uint16_t>(0) + first * g.a_stride_m,
                                .x_stride = g.a_stride_m,
                                .k = g.k,
                                .rows = n,
                                .columns = std::min(columns, g.n - block * columns),
                                .weight = weight + block * block_size,
                                .next = weight + later + (i - tiles.begin) * (block_size / count),
                                .next_step = step,
                                .bias = bias + block * columns,
                                .residual = at(residual, place),
                                .y = at(y, place),
                                .y_stride = g.n},
                               finish, pending);
        }
    cpu::finish_bf16(finish, pending);
    cpu::end_tiles();
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* bias = static_cast<float*>(launch.workspace);
    widen_bias(s, launch.inputs.size() > 2 ? launch.inputs[2] : nullptr, bias);
    const bool by_blocks = s.g.n > s.g.m;
    const int64_t items = by_blocks ? s.blocks() : s.tiles(), shares = std::min<int64_t>(s.threads, items);
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const Part mine{items * i / shares, items * (i + 1) / shares};
            multiply_part(s, launch, bias, by_blocks ? Part{0, s.tiles()} : mine,
                          by_blocks ? mine : Part{0, s.blocks()});
        }
    });
}

}  // namespace

Algorithm tiles_matmul() { return {"amx_tiles", supports, prepare, run}; }

}  // namespace mge::ops
