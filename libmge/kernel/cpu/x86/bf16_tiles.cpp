// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics.
#include "libmge/kernel/cpu/product/bf16_tiles.h"

#include <immintrin.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t line = 64, lanes = 16;
constexpr int64_t sums_stride = bf16_columns * int64_t(sizeof(float));

// Tiles 0 to 3 contain the sums, 4 and 5 rows, 6 and 7 columns.
__attribute__((target("amx-tile"))) void start_sums() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

int64_t steps_along_k(const Bf16Tile& t) { return int64_t(t.parts.size()) * (t.part / t.depth); }

// Calls between_steps() after the instructions of each step along k.
template <bool has_later, class BetweenSteps>
__attribute__((target("amx-tile,amx-bf16"))) void add_products(const Bf16Tile& t,
                                                               const BetweenSteps& between_steps) {
    constexpr int64_t weight_stride = 2 * line;
    const int64_t stride = t.x_stride * int64_t(sizeof(uint16_t));
    const uint16_t* weight = t.weight;
    auto* next = reinterpret_cast<const char*>(t.next);
    for (int64_t part : t.parts) {
        const uint16_t *x = t.x + part, *later = t.later + part;
        for (int64_t k = 0; k < t.part; k += t.depth, weight += t.depth * bf16_columns) {
            _tile_loadd(4, x + k, stride);
            _tile_loadd(6, weight, weight_stride);
            _tile_loadd(7, weight + 2 * lanes, weight_stride);
            if constexpr (has_later) _tile_loadd(5, later + k, stride);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            if constexpr (has_later) _tile_dpbf16ps(2, 5, 6);
            if constexpr (has_later) _tile_dpbf16ps(3, 5, 7);
            for (const char* end = next + t.next_step; next < end; next += line)
                _mm_prefetch(next, _MM_HINT_T1);
            between_steps();
        }
    }
}
template <class BetweenSteps>
void add_products(const Bf16Tile& t, const BetweenSteps& between_steps) {
    t.rows > t.first_rows ? add_products<true>(t, between_steps) : add_products<false>(t, between_steps);
}
void add_products(const Bf16Tile& t) {
    add_products(t, [] {});
}

// The strides are in bytes.
__attribute__((target("amx-tile"))) void load_sums(const float* first, const float* later, int64_t stride) {
    _tile_loadd(0, first, stride);
    _tile_loadd(1, first + lanes, stride);
    if (!later) return;
    _tile_loadd(2, later, stride);
    _tile_loadd(3, later + lanes, stride);
}
__attribute__((target("amx-tile"))) void store_sums(float* first, float* later, int64_t stride) {
    _tile_stored(0, first, stride);
    _tile_stored(1, first + lanes, stride);
    if (!later) return;
    _tile_stored(2, later, stride);
    _tile_stored(3, later + lanes, stride);
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

inline __mmask16 first_lanes(int64_t count) {
    return __mmask16(count >= lanes ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

// Activations between two bounds. NaN stays NaN, or becomes one of them.
enum class OfNan { nan, lower, upper };
struct Bounds {
    float lower = -std::numeric_limits<float>::infinity(), upper = std::numeric_limits<float>::infinity();
    OfNan of_nan = OfNan::nan;
};
std::optional<Bounds> bounds_of(Activation activation) {
    switch (activation) {
        case Activation::none:
            return Bounds{};
        case Activation::relu:
            return Bounds{.lower = 0, .of_nan = OfNan::lower};
        case Activation::relu6:
            return Bounds{0, 6, OfNan::upper};
        case Activation::relu_keeps_nan:
            return Bounds{.lower = 0};
        case Activation::relu6_keeps_nan:
            return Bounds{0, 6};
        default:
            return std::nullopt;
    }
}

// Bounds in registers. If an operand of a minimum or maximum is NaN, the result is the second one.
struct BoundVectors {
    __m512 lower, upper;
    OfNan of_nan;
    __attribute__((target("avx512f"), always_inline)) __m512 operator()(__m512 x) const {
        x = of_nan == OfNan::upper ? _mm512_min_ps(x, upper) : _mm512_min_ps(upper, x);
        return of_nan == OfNan::lower ? _mm512_max_ps(x, lower) : _mm512_max_ps(lower, x);
    }
};
__attribute__((target("avx512f"))) inline BoundVectors in_vectors(const Bounds& b) {
    return {_mm512_set1_ps(b.lower), _mm512_set1_ps(b.upper), b.of_nan};
}

// Rows of neighbours. With bounds y is stored, otherwise what is to be activated, in `sums`.
template <bool is_wide>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void add_up(
    const Bf16Tile& t, int64_t rows, const void* residual_rows, void* y_rows,
    const std::optional<Bounds>& bounds, float* sums) {
    using Vector = Vectors<is_wide>;
    using Element = typename Vector::Element;
    auto* residual = static_cast<const Element*>(residual_rows);
    auto* y = static_cast<Element*>(y_rows);
    const __mmask16 left = first_lanes(t.columns), right = first_lanes(t.columns - lanes);
    const bool is_bounded = bounds.has_value();
    const BoundVectors bounded = in_vectors(bounds.value_or(Bounds{}));
    const int64_t stride = t.y_stride;
    const __m512 left_bias = _mm512_loadu_ps(t.bias), right_bias = _mm512_loadu_ps(t.bias + lanes);
    for (int64_t r = 0; r < rows; ++r, sums += bf16_columns, y += stride) {
        __m512 a = _mm512_add_ps(_mm512_load_ps(sums), left_bias);
        __m512 b = _mm512_add_ps(_mm512_load_ps(sums + lanes), right_bias);
        if (residual) {
            a = _mm512_add_ps(a, Vector::load(residual, left));
            b = _mm512_add_ps(b, Vector::load(residual + lanes, right));
            residual += stride;
        }
        if (is_bounded) {
            Vector::store(y, bounded(a), left);
            Vector::store(y + lanes, bounded(b), right);
        } else {
            _mm512_store_ps(sums, a);
            _mm512_store_ps(sums + lanes, b);
        }
    }
}

// Rows [begin, end) of y, all before or all behind `first_rows`.
template <bool is_wide>
void store_y(const Bf16Tile& t, Activation activation, float* sums, int64_t begin, int64_t end) {
    // Zeros instead of what is added, so that activated sums are stored by the same loop.
    alignas(line) static constexpr float nothing[size_t(bf16_columns)]{};
    using Element = typename Vectors<is_wide>::Element;
    const bool is_later = begin >= t.first_rows;
    const int64_t rows = end - begin, at = (begin - (is_later ? t.first_rows : 0)) * t.y_stride;
    auto* residual = static_cast<const Element*>(is_later ? t.residual_later : t.residual);
    auto* y = static_cast<Element*>(is_later ? t.y_later : t.y) + at;
    const auto bounds = bounds_of(activation);
    sums += begin * bf16_columns;
    add_up<is_wide>(t, rows, residual ? residual + at : nullptr, y, bounds, sums);
    if (bounds) return;
    activate(activation, sums, rows * bf16_columns);
    Bf16Tile activated = t;
    activated.bias = nothing;
    add_up<is_wide>(activated, rows, nullptr, y, Bounds{}, sums);
}

// The next rows of the pending tile, at most so many.
void store_some(const Bf16Finish& finish, Bf16Pending& pending, int64_t most) {
    const Bf16Tile& t = pending.tile;
    const int64_t begin = pending.stored_rows, part_end = begin < t.first_rows ? t.first_rows : t.rows;
    pending.stored_rows = std::min(part_end, begin + most);
    (finish.dtype == DType::f32 ? store_y<true> : store_y<false>)(t, finish.activation, pending.sums, begin,
                                                                  pending.stored_rows);
}

}  // namespace

bool has_bf16_tiles() { return has_matrix_tiles(); }

int64_t bf16_depth(int64_t part) {
    constexpr int64_t most = 32, fewest = 12;
    for (int64_t depth = most; depth >= fewest; depth -= 2)
        if (part % depth == 0) return depth;
    return 0;
}

// The processor looks ahead over some 500 operations. So vectors and matrices work at the same time only if
// the instructions of a long product and the rows of the tile before alternate.
void multiply_bf16(const Bf16Tile& tile, const Bf16Finish& finish, Bf16Pending& pending) {
    constexpr int64_t long_product = 7, fewest_rows = 2;  // steps along k, and rows between two of them
    const int64_t steps = steps_along_k(tile);
    start_sums();
    if (steps >= long_product) {
        const int64_t most = std::max(fewest_rows, pending.rows() / steps + 1);
        add_products(tile, [&] {
            if (pending.stored_rows < pending.rows()) store_some(finish, pending, most);
        });
    } else {
        add_products(tile);
    }
    finish_bf16(finish, pending);
    const bool has_later = tile.rows > tile.first_rows;
    store_sums(pending.sums, has_later ? pending.sums + tile.first_rows * bf16_columns : nullptr,
               sums_stride);
    pending.tile = tile;
    pending.stored_rows = 0;
}

void finish_bf16(const Bf16Finish& finish, Bf16Pending& pending) {
    while (pending.stored_rows < pending.rows()) store_some(finish, pending, bf16_rows);
}

void add_bf16(const Bf16Sums& s, bool is_first) {
    static constexpr int64_t whole[] = {0};
    const int64_t stride = s.y_stride * int64_t(sizeof(float));
    float* later = s.has_two_tiles ? s.y + tile_rows * s.y_stride : nullptr;
    is_first ? start_sums() : load_sums(s.y, later, stride);
    add_products({.x = s.x,
                  .later = s.x + tile_rows * s.x_stride,
                  .x_stride = s.x_stride,
                  .parts = whole,
                  .part = s.depth,
                  .depth = bf16_depth_of_tile,
                  .rows = later ? 2 * tile_rows : tile_rows,
                  .first_rows = tile_rows,
                  .weight = s.weight});
    store_sums(s.y, later, stride);
}

}  // namespace mge::cpu
