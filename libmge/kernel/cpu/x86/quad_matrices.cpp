// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics. A tile consists
// of up to two matrices of 16 rows, which are multiplied with one or two of 16 columns. Their sums pass
// through the L1 cache on the way to steps, while the products of the next tile are computed.
#include <cpuid.h>
#include <immintrin.h>

#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/cpu/x86/quad_store-inl.h"

namespace mge::cpu {
namespace {

constexpr int64_t line = 64;
constexpr int64_t words_of_step = tile_row_bytes / quad_word;

// Matrices 0 to 3 contain the sums, 4 and 5 rows, 6 and 7 columns.
template <int vectors, bool has_later, bool is_signed>
__attribute__((target("amx-tile,amx-int8"))) void multiply(const QuadTile& t) {
    constexpr int64_t weight_stride = vectors * line;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    const int8_t *weight = t.weight, *next = t.next;
    for (int64_t part : t.parts) {
        const uint8_t *x = t.x + part, *later = t.later + part;
        for (int64_t k = 0; k < t.part_bytes; k += tile_row_bytes, weight += tile_rows * weight_stride) {
            _tile_loadd(4, x + k, t.stride);
            _tile_loadd(6, weight, weight_stride);
            if constexpr (vectors == 2) _tile_loadd(7, weight + line, weight_stride);
            if constexpr (has_later) _tile_loadd(5, later + k, t.stride);
            if constexpr (is_signed) {
                _tile_dpbssd(0, 4, 6);
                if constexpr (vectors == 2) _tile_dpbssd(1, 4, 7);
                if constexpr (has_later) _tile_dpbssd(2, 5, 6);
                if constexpr (has_later && vectors == 2) _tile_dpbssd(3, 5, 7);
            } else {
                _tile_dpbusd(0, 4, 6);
                if constexpr (vectors == 2) _tile_dpbusd(1, 4, 7);
                if constexpr (has_later) _tile_dpbusd(2, 5, 6);
                if constexpr (has_later && vectors == 2) _tile_dpbusd(3, 5, 7);
            }
            for (const int8_t* end = next + words_of_step * t.next_step; next < end; next += line)
                _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
        }
    }
}

template <int vectors>
void multiply(const QuadTile& t) {
    if (t.rows > t.first_rows)
        t.is_signed ? multiply<vectors, true, true>(t) : multiply<vectors, true, false>(t);
    else
        t.is_signed ? multiply<vectors, false, true>(t) : multiply<vectors, false, false>(t);
}

template <int vectors>
__attribute__((target("amx-tile"))) void store_sums(const QuadTile& t, int32_t* sums, int64_t row_bytes) {
    _tile_stored(0, sums, row_bytes);
    if constexpr (vectors == 2) _tile_stored(1, sums + quad_lanes, row_bytes);
    if (t.rows == t.first_rows) return;
    int32_t* later_sums = sums + t.first_rows * row_bytes / int64_t(sizeof(int32_t));
    _tile_stored(2, later_sums, row_bytes);
    if constexpr (vectors == 2) _tile_stored(3, later_sums + quad_lanes, row_bytes);
}

template <int vectors, bool is_short, Between what>
__attribute__((target("avx512f,avx512bw,avx512vl"))) void store_steps(const QuadTile& t,
                                                                      const QuadSteps& quad_steps,
                                                                      const int32_t* from) {
    using Store = StepStore<vectors, is_short, what, false>;
    const Store store(t, quad_steps);
    auto* sums = reinterpret_cast<const __m512i(*)[vectors]>(from);
    const int64_t stride = t.y_stride;
    uint8_t* y = t.y;
    const uint8_t* residual = t.residual;
    for (int64_t rows : {t.first_rows, t.rows - t.first_rows}) {
        typename Store::Rows places;
        for (int64_t r = 0; r < rows; r += Store::together) {
#pragma GCC unroll 4
            for (int i = 0; i < Store::together; ++i) {
                places.y[i] = y + (r + i) * stride;
                places.residual[i] = residual + (r + i) * stride;
            }
            store(sums + r, int(rows - r), places);
        }
        sums += rows;
        y = t.y_later;
        residual = t.residual_later;
    }
}

template <int vectors>
void store_steps(const QuadTile& t, const QuadSteps& steps, const int32_t* sums) {
    switch (between(steps)) {
        case Between::nothing:
            return steps.is_short ? store_steps<vectors, true, Between::nothing>(t, steps, sums)
                                  : store_steps<vectors, false, Between::nothing>(t, steps, sums);
        case Between::inner_and_residual:
            return store_steps<vectors, true, Between::inner_and_residual>(t, steps, sums);
        case Between::inner_and_shift:
            return store_steps<vectors, true, Between::inner_and_shift>(t, steps, sums);
        case Between::any:
            return store_steps<vectors, false, Between::any>(t, steps, sums);
    }
}

void finish(const QuadSteps& steps, QuadPending& pending) {
    if (!pending.has_tile) return;
    const bool is_wide = pending.tile.columns > quad_lanes;
    (is_wide ? store_steps<2> : store_steps<1>)(pending.tile, steps, pending.sums);
    pending.has_tile = false;
}

template <int vectors>
void steps_of(const QuadTile& t, const QuadSteps& steps, QuadPending& pending) {
    multiply<vectors>(t);
    finish(steps, pending);
    store_sums<vectors>(t, pending.sums, vectors * line);
    pending.tile = t;
    pending.has_tile = true;
}
void steps_of(const QuadTile& t, const QuadSteps& steps, QuadPending& pending) {
    (t.columns > quad_lanes ? steps_of<2> : steps_of<1>)(t, steps, pending);
}

template <int vectors>
void sums_of(const QuadTile& t, int32_t* sums) {
    multiply<vectors>(t);
    store_sums<vectors>(t, sums, quad_columns * int64_t(sizeof(int32_t)));
    for (int64_t r = 0; r < t.rows; ++r)
        for (int64_t c = 0; c < t.columns; ++c) sums[r * quad_columns + c] += t.start[c];
}
void sums_of(const QuadTile& t, int32_t* sums) {
    (t.columns > quad_lanes ? sums_of<2> : sums_of<1>)(t, sums);
}

void begin(const QuadTile& t) { begin_tiles(t.first_rows, t.rows - t.first_rows); }

constexpr QuadUnit unit{.name = "matrices",
                        .rows = 2 * tile_rows,
                        .whole = tile_rows,
                        .depth = tile_row_bytes,
                        .takes_signed = true,
                        .begin = begin,
                        .end = end_tiles,
                        .steps = steps_of,
                        .finish = finish,
                        .sums = sums_of};

bool multiplies_bytes() {
    constexpr unsigned int8 = 1u << 25;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return has_matrix_tiles() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & int8);
}

}  // namespace

const QuadUnit* quad_matrices() {
    static const bool has_bytes = multiplies_bytes();
    return has_bytes ? &unit : nullptr;
}

}  // namespace mge::cpu
