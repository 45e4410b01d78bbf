// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics.
#include "libmge/kernel/cpu/product/bf16_tiles.h"

#include <immintrin.h>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t line = 64, lanes = 16;
constexpr int64_t sums_stride = bf16_columns * int64_t(sizeof(float));

// Tiles 0 to 3 contain the sums, 4 and 5 rows, 6 and 7 columns.
template <bool has_later>
__attribute__((target("amx-tile,amx-bf16"))) void multiply(const Bf16Tile& t) {
    constexpr int64_t weight_stride = 2 * line;
    const int64_t stride = t.x_stride * int64_t(sizeof(uint16_t)), first = first_bf16_rows(t.rows);
    const uint16_t *x = t.x, *later = x + first * t.x_stride, *weight = t.weight;
    auto* next = reinterpret_cast<const char*>(t.next);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k = 0; k < t.k; k += bf16_depth, weight += bf16_depth * bf16_columns) {
        _tile_loadd(4, x + k, stride);
        _tile_loadd(6, weight, weight_stride);
        _tile_loadd(7, weight + 2 * lanes, weight_stride);
        if constexpr (has_later) _tile_loadd(5, later + k, stride);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (has_later) _tile_dpbf16ps(2, 5, 6);
        if constexpr (has_later) _tile_dpbf16ps(3, 5, 7);
        for (const char* end = next + t.next_step; next < end; next += line) _mm_prefetch(next, _MM_HINT_T1);
    }
}

__attribute__((target("amx-tile"))) void store_sums(const Bf16Tile& t, float* sums) {
    _tile_stored(0, sums, sums_stride);
    _tile_stored(1, sums + lanes, sums_stride);
    const int64_t first = first_bf16_rows(t.rows);
    if (t.rows == first) return;
    _tile_stored(2, sums + first * bf16_columns, sums_stride);
    _tile_stored(3, sums + first * bf16_columns + lanes, sums_stride);
}

__attribute__((target("avx512f,avx512bw"))) inline __m512 widened(__m256i halves) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// A vector of the operand or result of a product, whose first `present` are stored.
template <bool is_wide>
struct Vectors {
    using Element = std::conditional_t<is_wide, float, uint16_t>;
    __attribute__((target("avx512f,avx512bw,avx512vl"))) static __m512 load(const Element* from,
                                                                            __mmask16 present) {
        if constexpr (is_wide)
            return _mm512_maskz_loadu_ps(present, from);
        else
            return widened(_mm256_maskz_loadu_epi16(present, from));
    }
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void store(Element* to, __m512 x,
                                                                                      __mmask16 present) {
        if constexpr (is_wide)
            return _mm512_mask_storeu_ps(to, present, x);
        else
            _mm256_mask_storeu_epi16(to, present, __m256i(_mm512_cvtneps_pbh(x)));
    }
};

template <bool is_wide>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void store_y(const Bf16Tile& t,
                                                                             Activation activation,
                                                                             float* sums) {
    using Vector = Vectors<is_wide>;
    using Element = typename Vector::Element;
    auto* residual = static_cast<const Element*>(t.residual);
    auto* y = static_cast<Element*>(t.y);
    const bool is_activated = activation != Activation::none;
    for (int64_t v = 0; v < 2; ++v) {
        const int64_t columns = t.columns - v * lanes, at = v * lanes;
        const auto present = __mmask16(columns >= lanes ? 0xffff : columns <= 0 ? 0 : (1u << columns) - 1);
        const __m512 bias = _mm512_loadu_ps(t.bias + at);
        for (int64_t r = 0; r < t.rows; ++r) {
            float* sum = sums + r * bf16_columns + at;
            __m512 x = _mm512_add_ps(_mm512_load_ps(sum), bias);
            if (residual) x = _mm512_add_ps(x, Vector::load(residual + r * t.y_stride + at, present));
            if (is_activated)
                _mm512_store_ps(sum, x);
            else
                Vector::store(y + r * t.y_stride + at, x, present);
        }
    }
    if (!is_activated) return;
    activate(activation, sums, t.rows * bf16_columns);
    for (int64_t r = 0; r < t.rows; ++r)
        for (int64_t at = 0; at < t.columns; at += lanes) {
            const int64_t columns = t.columns - at;
            const auto present = __mmask16(columns >= lanes ? 0xffff : (1u << columns) - 1);
            Vector::store(y + r * t.y_stride + at, _mm512_load_ps(sums + r * bf16_columns + at), present);
        }
}

}  // namespace

bool has_bf16_tiles() { return has_matrix_tiles(); }

void multiply_bf16(const Bf16Tile& tile, const Bf16Finish& finish, Bf16Pending& pending) {
    tile.rows > first_bf16_rows(tile.rows) ? multiply<true>(tile) : multiply<false>(tile);
    finish_bf16(finish, pending);
    store_sums(tile, pending.sums);
    pending.tile = tile;
    pending.has_tile = true;
}

void finish_bf16(const Bf16Finish& finish, Bf16Pending& pending) {
    if (!pending.has_tile) return;
    (finish.dtype == DType::f32 ? store_y<true> : store_y<false>)(pending.tile, finish.activation,
                                                                  pending.sums);
    pending.has_tile = false;
}

}  // namespace mge::cpu
