// SPDX-License-Identifier: Apache-2.0
// The side with fewer panels, rows or columns, is packed by all threads; it stays in each one's second cache.
// Then each thread takes its share of the other side, panel by panel: packs it, multiplies it by all panels
// of the first side, and stores the sums. So what is packed is read where it is near.

#include "libmge/ops/linalg/matmul_algorithms.h"

#include <algorithm>
#include <atomic>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/small_matmul.h"
#include "libmge/kernel/cpu/product/split_product.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {
namespace {

using namespace cpu;

// Multiplications with each element that is packed: with fewer, packing costs what the product saves.
constexpr int64_t fewest_per_element = 160;
// For the operand that all threads read: 1.5 MB, packed.
constexpr int64_t most_elements_near = 1 << 18;

struct SplitMatmul {
    MatmulGeometry g;
    Activation activation;
    int threads;

    int64_t steps() const { return split_steps(g.k); }
    int64_t row_panels() const { return split_panels(g.m); }
    int64_t column_panels() const { return split_panels(g.n); }
    bool shares_columns() const { return column_panels() <= row_panels(); }
    int64_t shared_panels() const { return std::min(row_panels(), column_panels()); }
    int64_t own_panels() const { return std::max(row_panels(), column_panels()); }
    // In the workspace: the shared side, then a panel of each thread, then sums of each.
    int64_t shared_steps() const { return shared_panels() * steps(); }
    int64_t packed_steps() const { return shared_steps() + threads * steps(); }
    size_t workspace() const {
        return size_t(packed_steps()) * sizeof(SplitStep) + size_t(threads) * sizeof(SplitSums);
    }
};

Support supports(const Problem& p) {
    if (!has_split_products()) return {"no matrix instructions"};
    if (Support plain = plain_layouts(p); !plain) return plain;
    for (auto& spec : p.inputs)
        if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
    auto g = matmul_geometry(p.as<Matmul::Params>(), p.inputs[0].shape, p.inputs[1].shape);
    if (g.batches() != 1) return {"one product only"};
    if (p.is_constant(1)) return {"matrices that change only: packed, a constant is 1.5 times as large"};
    if (g.m * g.n < fewest_per_element * (g.m + g.n) || g.k < split_depth)
        return {"packing costs what it saves"};
    if (std::min(g.m, g.n) * g.k > most_elements_near) return {"no side fits in the second cache"};
    return supported;
}

struct Product {
    const SplitMatmul& p;
    const float *a, *b, *bias, *residual;
    float* y;
    SplitStep* packed;
    SplitSums* sums;

    SplitSource rows(int64_t panel) const {
        int64_t first = panel * split_lines;
        return {a + first * p.g.a_stride_m, std::min(split_lines, p.g.m - first), p.g.k, p.g.a_stride_m,
                p.g.a_stride_k};
    }
    SplitSource columns(int64_t panel) const {
        int64_t first = panel * split_lines;
        return {b + first * p.g.b_stride_n, std::min(split_lines, p.g.n - first), p.g.k, p.g.b_stride_n,
                p.g.b_stride_k};
    }
};

// False when some numbers have no parts.
bool pack(const Product& product, bool is_of_columns, int64_t panel, SplitStep* to) {
    return is_of_columns ? pack_split_columns(product.columns(panel), to)
                         : pack_split_rows(product.rows(panel), to);
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& params = problem.as<Matmul::Params>();
    SplitMatmul p{matmul_geometry(params, problem.inputs[0].shape, problem.inputs[1].shape),
                  params.activation, problem.threads};
    return Prepared::make(p, p.workspace());
}

void store(const Product& product, int64_t row, int64_t column, const SplitSums& sums) {
    auto& g = product.p.g;
    int64_t m = row * split_lines, n = column * split_lines, place = m * g.n + n;
    int64_t rows = std::min(split_lines, g.m - m), columns = std::min(split_lines, g.n - n);
    float* y = product.y + place;
    store_split(sums, rows, columns,
                {product.bias ? product.bias + n : nullptr,
                 product.residual ? product.residual + place : nullptr, y, g.n});
    if (product.p.activation != Activation::none)
        for (int64_t i = 0; i < rows; ++i) activate(product.p.activation, y + i * g.n, columns);
}

// One panel by all of the shared side.
void multiply(const Product& product, int64_t own, const SplitStep* packed, SplitSums& sums) {
    auto& p = product.p;
    bool shares_columns = p.shares_columns();
    const SplitStep* shared = product.packed;
    begin_tiles();
    for (int64_t i = 0; i < p.shared_panels(); ++i, shared += p.steps()) {
        multiply_split(shares_columns ? packed : shared, shares_columns ? shared : packed, p.steps(), sums);
        store(product, shares_columns ? own : i, shares_columns ? i : own, sums);
    }
    end_tiles();
}

// The same by floats, where numbers have no parts; `panel` takes a panel of columns.
void multiply_floats(const Product& product, int64_t own, SplitStep* panel, SplitSums& sums) {
    static_assert(sizeof(SplitStep) >= split_depth * split_lines * sizeof(float));
    auto& p = product.p;
    auto& g = p.g;
    auto* columns = reinterpret_cast<float*>(panel);
    for (int64_t i = 0; i < p.shared_panels(); ++i) {
        int64_t row = p.shares_columns() ? own : i, column = p.shares_columns() ? i : own;
        auto a = product.rows(row), b = product.columns(column);
        for (int64_t k = 0; k < g.k; ++k)
            for (int64_t n = 0; n < split_lines; ++n)
                columns[k * split_lines + n] =
                    n < b.lines ? b.first[k * b.depth_stride + n * b.line_stride] : 0;
        SmallMatmul shape{a.lines, split_lines, g.k, g.a_stride_m, g.a_stride_k, split_lines, 1};
        small_matmul(shape, {a.first, columns, nullptr, nullptr, sums.values}, 0, split_lines);
        store(product, row, column, sums);
    }
}

void multiply(const Product& product) {
    auto& p = product.p;
    bool shares_columns = p.shares_columns();
    std::atomic<bool> has_parts = true;
    par_for(p.threads, p.shared_panels(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            if (!pack(product, shares_columns, i, product.packed + i * p.steps())) has_parts = false;
    });
    in_parts(p.threads, p.own_panels(), 1, [&](int part, int64_t begin, int64_t end) {
        SplitStep* own = product.packed + p.shared_steps() + part * p.steps();
        SplitSums& sums = product.sums[part];
        for (int64_t i = begin; i < end; ++i)
            if (has_parts && pack(product, !shares_columns, i, own))
                multiply(product, i, own, sums);
            else
                multiply_floats(product, i, own, sums);
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<SplitMatmul>();
    auto* packed = static_cast<SplitStep*>(launch.workspace);
    Product product{p,
                    launch.in<float>(0),
                    launch.in<float>(1),
                    launch.in_if_given<float>(2),
                    launch.in_if_given<float>(3),
                    launch.out<float>(0),
                    packed,
                    reinterpret_cast<SplitSums*>(packed + p.packed_steps())};
    multiply(product);
}

}  // namespace

Algorithm split_matmul() { return {"split", supports, prepare, run}; }

}  // namespace mge::ops
