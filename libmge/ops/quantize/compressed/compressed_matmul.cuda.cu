// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/compressed_matmul.cuda.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/products.cuh"
#include "libmge/kernel/cuda/rows.cuh"
#include "libmge/ops/quantize/compressed/compressed_step.cuda.cuh"

namespace mge::cuda {
namespace {

using Arguments = CompressedMatmulArguments;

MGE_DEVICE void put_product(const Arguments& a, int64_t row, int64_t column, float sum) {
    const int64_t at = row * a.extents.columns + column;
    if (a.bias) sum += a.bias[column];
    if (a.residual) sum += a.residual[at];
    a.y[at] = activated(a.activation, sum);
}

// --- in tiles ---

struct CompressedRows {
    ExpandArguments weight;

    using Row = int64_t;
    using Column = CompressedColumn;
    MGE_DEVICE bool runs_along_k() const { return true; }
    MGE_DEVICE Row row(int64_t i) const { return i; }
    MGE_DEVICE Column column(int64_t k) const { return compressed_column(weight, k); }
    MGE_DEVICE float value(Row row, const Column& column) const {
        return compressed_weight_at(weight, row, column);
    }
};

struct CompressedWork {
    using Value = float;
    Arguments a;
    ProductExtents extents;
    float* parts = nullptr;

    MGE_DEVICE Strided<float> left(int64_t) const { return {a.x, extents.depth, 1}; }
    MGE_DEVICE CompressedRows right(int64_t) const { return {a.weight}; }
    MGE_DEVICE void put(int64_t, int64_t row, int64_t column, float sum) const {
        put_product(a, row, column, sum);
    }
};

// --- few rows of x ---

// The part that a lane reads at once: neighbouring bytes of one group.
template <int bytes>
struct alignas(bytes) Steps {
    uint8_t v[bytes];
};

// The share of one lane in the products of a row of weights with all rows of x.
template <int rows, int bytes>
MGE_DEVICE void add_products(const Arguments& a, int64_t row, int64_t first, float (&sums)[rows]) {
    auto& w = a.weight;
    const int64_t row_bytes = w.groups * w.group_bytes;
    const int in_byte = 8 / w.bits;
    for (int64_t byte = first * bytes; byte < row_bytes; byte += 32 * bytes) {
        int64_t group = byte;
        const int64_t within = split_index(group, w.group_bytes), at = row * w.groups + group;
        const auto steps = *reinterpret_cast<const Steps<bytes>*>(w.data.steps + row * row_bytes + byte);
        const float zero = zero_of(w, at), scale = w.data.scale[at];
        float products[rows] = {};
#pragma unroll
        for (int i = 0; i < bytes; ++i)
            for (int half = 0; half < in_byte; ++half) {
                const int64_t in_group = (within + i) * in_byte + half, column = group * w.group + in_group;
                // Groups are filled up: bytes of the last one may stand for nothing.
                if (in_group >= w.group || column >= w.columns) continue;
                const float step = float(step_in(w, steps.v[i], half != 0)) - zero;
#pragma unroll
                for (int m = 0; m < rows; ++m)
                    if (m < a.extents.rows) products[m] += step * a.x[m * w.columns + column];
            }
#pragma unroll
        for (int m = 0; m < rows; ++m) sums[m] += products[m] * scale;
    }
}

template <int rows, int bytes>
__global__ void multiply_rows(Arguments a) {
    for (int64_t row = first_piece() / 32; row < a.weight.rows; row += piece_step() / 32) {
        float sums[rows] = {};
        const int lane = int(threadIdx.x) % 32;
        add_products<rows, bytes>(a, row, lane, sums);
#pragma unroll
        for (int m = 0; m < rows; ++m) {
            const float sum = across_lanes(sums[m], 32, Plus());
            if (lane == 0 && m < a.extents.rows) put_product(a, m, row, sum);
        }
    }
}

template <int rows>
void launch_rows(Stream stream, const Arguments& a) {
    constexpr int bytes = 4;
    const bool can_pack =
        a.weight.group_bytes % bytes == 0 && reinterpret_cast<uintptr_t>(a.weight.data.steps) % bytes == 0;
    launch(can_pack ? multiply_rows<rows, bytes> : multiply_rows<rows, 1>, grid_for(a.weight.rows * 32),
           block_threads, 0, stream, a);
}

}  // namespace

void multiply_compressed_rows(Stream stream, const Arguments& a) {
    if (a.extents.rows == 1) return launch_rows<1>(stream, a);
    if (a.extents.rows <= 4) return launch_rows<4>(stream, a);
    launch_rows<most_rows_at_once>(stream, a);
}

void multiply_compressed_tiles(Stream stream, const Arguments& a) {
    launch_products(stream, CompressedWork{a, a.extents});
}

}  // namespace mge::cuda
