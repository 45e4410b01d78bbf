// SPDX-License-Identifier: Apache-2.0
// Both matrices are packed in words along k (kernel/cpu/product/integer_tile.h): as i16, or, where the
// processor multiplies bytes, i8 as they are in b and shifted by 128 in a; what the shift adds to a column,
// 128 · Σ b, is taken off at the end. A unit of work is a chunk of rows by one block of columns.

#include "libmge/ops/linalg/matmul_algorithms.h"

#include <algorithm>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/product/integer_tile.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_geometry.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

using NarrowTypes = Types<uint8_t, int8_t, int16_t>;

constexpr int64_t rows_per_chunk = 48;  // whole tiles of 6 and of 12 rows

bool is_short(DType dtype) { return dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16; }

Support supports(const Problem& p) {
    if (auto plain = plain_layouts(p); !plain) return plain;
    if (!is_short(p.inputs[0].dtype)) return {"uint8, int8 and int16 only"};
    if (p.as<Matmul::Params>().activation != Activation::none) return {"no activation of integers"};
    return supported;
}

// Sizes are counted in words of 4 bytes.
struct IntegerMatmul {
    MatmulGeometry g;
    DType dtype;
    const cpu::IntegerTile* tile;
    int64_t words, blocks, threads;
    bool is_bias_wide, is_residual_wide;
    PackedValues<int32_t> b, b_sums;  // packed, when it never changes

    bool is_bytes() const { return tile->per_word == 4; }
    int64_t columns() const { return blocks * tile->columns; }
    int64_t b_words() const { return words * columns(); }
    int64_t scratch_words() const { return rows_per_chunk * (words + tile->columns); }
    size_t workspace() const {
        return size_t(threads * scratch_words() + (b.empty() ? b_words() + columns() : 0)) * sizeof(int32_t);
    }
};

template <class E, class T>
void pack_b(const IntegerMatmul& p, const T* b, int32_t* packed, int32_t* sums) {
    constexpr int64_t per_word = 4 / sizeof(E);
    std::fill(packed, packed + p.b_words(), 0);
    std::fill(sums, sums + p.columns(), 0);
    auto* elements = reinterpret_cast<E*>(packed);
    int64_t wide = p.tile->columns;
    for (int64_t n = 0; n < p.g.n; ++n) {
        E* block = elements + n / wide * p.words * wide * per_word;
        for (int64_t k = 0; k < p.g.k; ++k) {
            T value = b[k * p.g.b_stride_k + n * p.g.b_stride_n];
            block[(k / per_word * wide + n % wide) * per_word + k % per_word] = E(value);
            sums[n] += value;
        }
    }
}

void pack_b(const IntegerMatmul& p, const void* b, int32_t* packed, int32_t* sums) {
    dispatch_dtype(p.dtype, NarrowTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        auto* from = static_cast<const T*>(b);
        p.is_bytes() ? pack_b<int8_t>(p, from, packed, sums) : pack_b<int16_t>(p, from, packed, sums);
    });
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& params = problem.as<Matmul::Params>();
    auto is_wide = [&](size_t i) { return problem.has_input(i) && problem.inputs[i].dtype == DType::i32; };
    DType dtype = problem.inputs[0].dtype;
    auto* bytes = dtype == DType::i8 ? cpu::quad_tile() : nullptr;
    IntegerMatmul p{.g = matmul_geometry(params, problem.inputs[0].shape, problem.inputs[1].shape),
                    .dtype = dtype,
                    .tile = bytes ? bytes : &cpu::pair_tile(),
                    .threads = problem.threads,
                    .is_bias_wide = is_wide(2),
                    .is_residual_wide = is_wide(3)};
    p.words = ceil_div(p.g.k, p.tile->per_word);
    p.blocks = ceil_div(p.g.n, p.tile->columns);
    PackedInputs packed;
    if (problem.is_constant(1) && p.g.batches() == 1) {
        p.b = PackedValues<int32_t>(p.b_words());
        p.b_sums = PackedValues<int32_t>(p.columns());
        pack_b(p, context.constants[1], p.b.data(), p.b_sums.data());
        packed = {{p.b.piece(), p.b_sums.piece()}, 1u << 1};
    }
    size_t workspace = p.workspace();
    return Prepared::make(std::move(p), workspace, std::move(packed));
}

// One batch of a run.
struct BatchRun {
    const IntegerMatmul& p;
    const Launch& launch;
    const void* a;
    const int32_t *b, *b_sums;
    int64_t batch;
};

// Words of a tile's rows, those of a word side by side. Rows beyond the last repeat it.
template <class E, class T>
void gather_rows(const BatchRun& run, int64_t first, int32_t shift, int32_t* to) {
    constexpr int64_t per_word = 4 / sizeof(E);
    auto& g = run.p.g;
    int64_t rows = run.p.tile->rows;
    auto* elements = reinterpret_cast<E*>(to);
    if (run.p.words) std::fill(to + (run.p.words - 1) * rows, to + run.p.words * rows, 0);
    for (int64_t r = 0; r < rows; ++r) {
        const T* a = static_cast<const T*>(run.a) + std::min(first + r, g.m - 1) * g.a_stride_m;
        for (int64_t k = 0; k < g.k; ++k)
            elements[(k / per_word * rows + r) * per_word + k % per_word] = E(a[k * g.a_stride_k] + shift);
    }
}

void gather_chunk(const BatchRun& run, int64_t first, int64_t count, int32_t* words) {
    dispatch_dtype(run.p.dtype, NarrowTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t r = 0; r < count; r += run.p.tile->rows) {
            if (run.p.is_bytes())
                gather_rows<uint8_t, T>(run, first + r, 128, words + r * run.p.words);
            else
                gather_rows<int16_t, T>(run, first + r, 0, words + r * run.p.words);
        }
    });
}

// i32 sums with bias and residual, which are of the dtype of y or of the operands.
template <class T>
void store_block(const BatchRun& run, int64_t first, int64_t count, int64_t block, const int32_t* sums) {
    const IntegerMatmul& p = run.p;
    auto summand = [&](size_t input, bool is_wide, int64_t i) -> int32_t {
        if (run.launch.inputs.size() <= input || !run.launch.inputs[input]) return 0;
        return is_wide ? run.launch.in<int32_t>(input)[i] : run.launch.in<T>(input)[i];
    };
    int64_t wide = p.tile->columns, last = std::min(wide, p.g.n - block * wide);
    for (int64_t r = 0; r < count; ++r)
        for (int64_t c = 0; c < last; ++c) {
            int64_t n = block * wide + c, at = (run.batch * p.g.m + first + r) * p.g.n + n;
            int32_t shifted = p.is_bytes() ? 128 * run.b_sums[n] : 0;
            run.launch.out<int32_t>(0)[at] = sums[r * wide + c] - shifted + summand(2, p.is_bias_wide, n) +
                                             summand(3, p.is_residual_wide, at);
        }
}

void run_units(const BatchRun& run, int64_t begin, int64_t end, int32_t* scratch) {
    const IntegerMatmul& p = run.p;
    int64_t gathered = -1, wide = p.tile->columns;
    int32_t *words = scratch, *sums = scratch + rows_per_chunk * p.words;
    for (int64_t unit = begin; unit < end; ++unit) {
        int64_t first = unit / p.blocks * rows_per_chunk, block = unit % p.blocks;
        int64_t count = std::min(rows_per_chunk, p.g.m - first);
        if (gathered != first) gather_chunk(run, first, count, words);
        gathered = first;
        for (int64_t r = 0; r < count; r += p.tile->rows)
            p.tile->multiply(words + r * p.words, run.b + block * p.words * wide, p.words, sums + r * wide,
                             wide);
        dispatch_dtype(p.dtype, NarrowTypes{}, [&](auto type) {
            store_block<typename decltype(type)::type>(run, first, count, block, sums);
        });
    }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<IntegerMatmul>();
    auto* scratch = static_cast<int32_t*>(launch.workspace);
    int32_t *b = scratch + p.threads * p.scratch_words(), *b_sums = b + p.b_words();
    int64_t units = ceil_div(p.g.m, rows_per_chunk) * p.blocks;
    if (p.g.m == 0 || p.g.n == 0) return;
    for (int64_t batch = 0; batch < p.g.batches(); ++batch) {
        auto place = [&](size_t i, int64_t offset) {
            return static_cast<const char*>(launch.inputs[i]) + offset * int64_t(size_of(p.dtype));
        };
        if (p.b.empty()) pack_b(p, place(1, p.g.b_offset(batch)), b, b_sums);
        BatchRun run{p,
                     launch,
                     place(0, p.g.a_offset(batch)),
                     p.b.empty() ? b : p.b.data(),
                     p.b.empty() ? b_sums : p.b_sums.data(),
                     batch};
        bool is_small = p.g.m * p.g.n * p.g.k < 16 * parallel_grain;
        int64_t shares = is_small ? 1 : std::min(p.threads, units);
        in_balanced_parts(int(shares), units, 1, [&](int thread, int64_t begin, int64_t end) {
            run_units(run, begin, end, scratch + thread * p.scratch_words());
        });
    }
}

}  // namespace

Algorithm integer_matmul() { return {"integer_tiles", supports, prepare, run}; }

}  // namespace mge::ops
