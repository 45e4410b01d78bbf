// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/ops/linalg/matmul_algorithms.h"

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/packed_product.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/linalg/constant_matrix.h"
#include "libmge/ops/linalg/packing.h"

namespace mge::ops {
namespace {

// Fewer rows read a panel too seldom, fewer columns leave it half empty, shorter sums are all beginnings.
constexpr int64_t enough_rows = 4, enough_columns = 16, enough_depth = 32;
// Work per thread that is worth a parallel region; about 30 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 15;
// Threads share the panels where each gets so many of them, else the rows.
constexpr int64_t panels_per_thread = 4;
// So many panels read a row often enough for it to be packed.
constexpr int64_t panels_of_packed_rows = 16;
// Panels that a thread takes at once, so that the second cache keeps their sums; multiplications that are
// worth taking.
constexpr int64_t panels_together = 8, multiplications_together = 1 << 18;

struct State {
    cpu::PackedProduct shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    Activation activation;

    bool packs_rows() const { return shape.panels() >= panels_of_packed_rows; }
};

Support supports(const Problem& p) {
    if (Support constant = has_constant_matrix_of_f32(p); !constant) return constant;
    // There it packs weights, too; with shorter vectors it copies them in every run.
    if (cpu_isa() >= Isa::avx512) return {"the library is as fast with vectors of 512 bits"};
    auto g = geometry_of(p);
    if (g.batches() != 1 || g.a_stride_k != 1 || g.a_stride_m != g.k) return {"dense rows only"};
    if (g.m < enough_rows || g.n < enough_columns || g.k < enough_depth) return {"a small matrix"};
    return supported;
}

// A row behind the other in each panel; oneDNN's word for that has blocks of 16 rows, which changes nothing
// but the padding behind the last.
onednn::MemoryDesc panels(const MatmulGeometry& g) { return onednn::tagged({g.k, g.n}, dnnl_BA16a16b); }

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = geometry_of(p);
    const int64_t dims[]{g.k, g.n}, strides[]{g.b_stride_k, g.b_stride_n};
    auto used = panels(g);
    State state{{g.m, g.n, g.k, 0},
                onednn::pack_weight(onednn::strided(dims, strides, dnnl_f32), used, context.constants[1],
                                    p.threads, packing_of(context)),
                p.as<Matmul::Params>().activation};
    state.shape.panel = int64_t(used.bytes() / sizeof(float)) / state.shape.panels();
    PackedInputs packed{{{state.weight->data(), used.bytes()}}, 1u << 1};
    const int64_t rows = state.packs_rows() ? std::min(g.m, cpu::rows_packed_together) : 0;
    return Prepared::make(std::move(state), size_t(rows * g.k) * sizeof(float), std::move(packed));
}

struct Product {
    const cpu::PackedProduct& shape;
    cpu::PackedProductData data;
    cpu::ProductEpilogue epilogue;
    int threads;

    void compute(const cpu::ProductPart& part) const { cpu::packed_product(shape, data, part, epilogue); }
};

constexpr int64_t columns = cpu::PackedProduct::panel_columns;

// The threads pack some rows, then they share the panels.
void multiply_packed_rows(Product product, const cpu::ProductRows& rows, float* packed) {
    const auto& shape = product.shape;
    const int64_t tiles = cpu::product_tiles(rows);
    par_for(product.threads, tiles, parallel_grain * tiles / (rows.count() * shape.k) + 1,
            [&](int64_t first, int64_t last) {
                cpu::pack_product_rows(shape, product.data.a, rows, first, last, packed);
            });
    product.data.packed_rows = packed;
    const int64_t least = multiplications_together / (rows.count() * shape.k * columns) + 1;
    in_claimed_parts(
        product.threads, shape.panels(), {std::min(least, panels_together), panels_together},
        [&](int64_t first, int64_t last) {
            product.compute({rows.first, rows.last, first * columns, std::min(last * columns, shape.n)});
        });
}

void multiply_by_panels(const Product& product) {
    const auto& shape = product.shape;
    par_for(product.threads, shape.panels(), grain_multiplications / (shape.m * shape.k * columns) + 1,
            [&](int64_t first, int64_t last) {
                product.compute({0, shape.m, first * columns, std::min(last * columns, shape.n)});
            });
}

void multiply_by_rows(const Product& product) {
    const auto& shape = product.shape;
    par_for(product.threads, shape.m, grain_multiplications / (shape.n * shape.k) + 1,
            [&](int64_t first, int64_t last) {
                product.compute({first, last, 0, shape.n});
            });
}

Product product_of(const cpu::PackedProduct& shape, const Launch& launch, Activation activation,
                   const float* panels) {
    float* y = launch.out<float>(0);
    const float* residual = launch.in_if_given<float>(3);
    const bool is_in_place = residual == y;
    return {shape,
            {launch.in<float>(0), panels, y, is_in_place},
            {launch.in_if_given<float>(2), is_in_place ? nullptr : residual, activation, shape.n, y},
            launch.threads};
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const auto& shape = s.shape;
    const Product product =
        product_of(shape, launch, s.activation, static_cast<const float*>(s.weight->data()));
    if (shape.panels() < panels_per_thread * launch.threads) return multiply_by_rows(product);
    if (!s.packs_rows()) return multiply_by_panels(product);
    const int64_t blocks = ceil_div(shape.m, cpu::rows_packed_together);
    for (int64_t i = 0; i < blocks; ++i)
        multiply_packed_rows(product, {shape.m * i / blocks, shape.m * (i + 1) / blocks},
                             static_cast<float*>(launch.workspace));
}

// ---- any matrices: b, and a unless its rows are dense, are packed in each run ----

struct AnyState {
    MatmulGeometry g;
    cpu::PackedProduct shape;
    Activation activation;

    bool copies_rows() const { return g.a_stride_k != 1 || g.a_stride_m != g.k; }
    int64_t panel_floats() const { return shape.panels() * shape.panel; }
};

Support supports_any(const Problem& p) {
    if (Support plain = is_plain_f32(p); !plain) return plain;
    if (p.is_constant(1) && onednn_matmul().supports(p)) return {"a constant, which the library packs once"};
    auto g = geometry_of(p);
    return g.batches() * g.m * g.n * g.k > 0 ? supported : Support{"an empty operand"};
}

Prepared prepare_any(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = geometry_of(p);
    AnyState state{g, {g.m, g.n, g.k, g.k * columns}, p.as<Matmul::Params>().activation};
    const int64_t floats = state.panel_floats() + (state.copies_rows() ? g.m * g.k : 0);
    return Prepared::make(std::move(state), size_t(floats) * sizeof(float));
}

void pack_panels(const AnyState& s, const float* b, float* panels, int threads) {
    par_for(threads, s.shape.panels(), parallel_grain / s.shape.panel + 1, [&](int64_t first, int64_t last) {
        for (int64_t panel = first; panel < last; ++panel) {
            const int64_t column = panel * columns, count = std::min(columns, s.g.n - column);
            float* row = panels + panel * s.shape.panel;
            for (int64_t k = 0; k < s.g.k; ++k, row += columns) {
                const float* from = b + k * s.g.b_stride_k + column * s.g.b_stride_n;
                for (int64_t i = 0; i < count; ++i) row[i] = from[i * s.g.b_stride_n];
                std::fill(row + count, row + columns, 0.0f);
            }
        }
    });
}

void copy_rows(const AnyState& s, const float* a, float* rows, int threads) {
    par_for(threads, s.g.m, parallel_grain / s.g.k + 1, [&](int64_t first, int64_t last) {
        for (int64_t m = first; m < last; ++m)
            for (int64_t k = 0; k < s.g.k; ++k)
                rows[m * s.g.k + k] = a[m * s.g.a_stride_m + k * s.g.a_stride_k];
    });
}

void run_any(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<AnyState>();
    auto* panels = static_cast<float*>(launch.workspace);
    Product product = product_of(s.shape, launch, s.activation, panels);
    const float *a = launch.in<float>(0), *b = launch.in<float>(1);
    const float* packed = nullptr;
    for (int64_t i = 0; i < s.g.batches(); ++i) {
        // Batches may share a matrix.
        const float* matrix = b + s.g.b_offset(i);
        if (packed != matrix) pack_panels(s, matrix, panels, launch.threads);
        packed = matrix;
        product.data.a = a + s.g.a_offset(i);
        if (s.copies_rows()) {
            copy_rows(s, product.data.a, panels + s.panel_floats(), launch.threads);
            product.data.a = panels + s.panel_floats();
        }
        if (s.shape.panels() < panels_per_thread * launch.threads)
            multiply_by_rows(product);
        else
            multiply_by_panels(product);
        product.data.y += s.g.m * s.g.n;
        product.epilogue.y += s.g.m * s.g.n;
        if (product.epilogue.residual) product.epilogue.residual += s.g.m * s.g.n;
    }
}

}  // namespace

Algorithm packed_matmul() { return {"packed", supports, prepare, run}; }
Algorithm packing_matmul() { return {"packing", supports_any, prepare_any, run_any}; }

}  // namespace mge::ops
