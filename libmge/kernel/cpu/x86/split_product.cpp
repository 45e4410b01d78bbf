// SPDX-License-Identifier: Apache-2.0
// Highway of Debian 12 has no matrix instructions, so this uses the processor's intrinsics.
//
// A step of a panel is three parts of two tiles each. A tile of rows contains 32 contiguous k of a row; one
// of columns contains pairs of k, those of 16 columns side by side. Both are words of 32 bits, [line][pair]
// and [pair][line].
#include "libmge/kernel/cpu/product/split_product.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"

namespace mge::cpu {
namespace {

constexpr int64_t lanes = 16;
constexpr int64_t part_bytes = 2 * tile_bytes;
static_assert(sizeof(SplitStep) == 3 * part_bytes && split_lines == 2 * tile_rows);

// Limits elements after their multiplication: products of 2^58 by 2^58 leave sums of 2^11 of them finite.
constexpr int largest_exponent = 57;
constexpr int most_exponent = 126;  // two together: 2^126 is a float
// A float's last bit is 2^-149 or more, and then its parts are no subnormal numbers.
constexpr int exact_exponent = 149 - 126;
constexpr int exponent_bias = 127, exponent_shift = 23;

// --- splitting ---

struct Splitter {
    __m512i words;  // which halves of two vectors are put together
    __m512 scale;
    __m512i largest;
};

struct Parts {
    __m512i high, middle, low;  // floats whose lower halves are 0
};

__attribute__((target("avx512f,avx512bw"))) inline __m512i round_to_half(__m512i x) {
    const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(int(0xffff0000u));
    return _mm512_and_si512(_mm512_add_epi32(x, half), upper);
}

__attribute__((target("avx512f,avx512bw"))) inline Parts split(__m512 x) {
    Parts p;
    p.high = round_to_half(_mm512_castps_si512(x));
    __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(p.high));
    p.middle = round_to_half(_mm512_castps_si512(rest));
    p.low = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(p.middle)));
    return p;
}

// Each part of x and y as 32 words of one row of a tile.
__attribute__((target("avx512f,avx512bw"))) inline void emit(Splitter& s, __m512 x, __m512 y, std::byte* to) {
    const __m512i positive = _mm512_set1_epi32(0x7fffffff);
    __m512i x_size = _mm512_and_si512(_mm512_castps_si512(x), positive);
    __m512i y_size = _mm512_and_si512(_mm512_castps_si512(y), positive);
    s.largest = _mm512_max_epu32(s.largest, _mm512_max_epu32(x_size, y_size));
    Parts p = split(_mm512_mul_ps(x, s.scale)), q = split(_mm512_mul_ps(y, s.scale));
    _mm512_store_si512(to, _mm512_permutex2var_epi16(p.high, s.words, q.high));
    _mm512_store_si512(to + part_bytes, _mm512_permutex2var_epi16(p.middle, s.words, q.middle));
    _mm512_store_si512(to + 2 * part_bytes, _mm512_permutex2var_epi16(p.low, s.words, q.low));
}

inline __mmask16 first_lanes(int64_t count) {
    return __mmask16(count >= lanes ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

// 16 vectors of up to 16 floats, `stride` apart; those from `count` on are 0.
__attribute__((target("avx512f,avx512bw"))) inline void load_square(const float* from, int64_t stride,
                                                                    int64_t count, int64_t width,
                                                                    __m512* to) {
    __mmask16 mask = first_lanes(width);
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i)
        to[i] = i < count ? _mm512_maskz_loadu_ps(mask, from + i * stride) : _mm512_setzero_ps();
}

__attribute__((target("avx512f,avx512bw"))) inline void transpose_square(__m512* r) {
    __m512 t[lanes];
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; i += 4)
#pragma GCC unroll 2
        for (int64_t j = 0; j < 2; ++j) {
            __m512d upper = _mm512_castps_pd(t[i + j]), lower = _mm512_castps_pd(t[i + j + 2]);
            r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(upper, lower));
            r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(upper, lower));
        }
        // Lane l of r[4 g + c] contains column 4 l + c of the rows 4 g to 4 g + 3.
#pragma GCC unroll 4
    for (int64_t c = 0; c < 4; ++c) {
        __m512 even0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
        __m512 even1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
        __m512 odd0 = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
        __m512 odd1 = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
        t[c] = _mm512_shuffle_f32x4(even0, even1, 0x88);
        t[4 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
        t[8 + c] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
        t[12 + c] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < lanes; ++i) r[i] = t[i];
}

// The 16 x 16 floats at (line, k), [line][k] or [k][line]; transposed if stored the other way.
__attribute__((target("avx512f,avx512bw"))) inline void load(const SplitSource& s, int64_t line, int64_t k,
                                                             bool is_by_line, __m512* to) {
    const float* from = s.at(line, k);
    int64_t lines = s.lines - line, depth = s.depth - k;
    bool is_line_contiguous = s.depth_stride == 1;
    if (is_line_contiguous)
        load_square(from, s.line_stride, lines, depth, to);
    else
        load_square(from, s.depth_stride, depth, lines, to);
    if (is_line_contiguous != is_by_line) transpose_square(to);
}

uint32_t size_bits(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }

// Whether each element is the sum of its parts.
bool has_exact_parts(const SplitSource& source, int exponent) {
    if (exponent >= exact_exponent) return true;
    const auto least = uint32_t(exact_exponent - exponent + 1) << exponent_shift;
    for (int64_t line = 0; line < std::min(source.lines, split_lines); ++line)
        for (int64_t k = 0; k < source.depth; ++k) {
            const float* block = source.at(line / lanes * lanes, k / lanes * lanes);
            const uint32_t size =
                size_bits(block[line % lanes * source.line_stride + k % lanes * source.depth_stride]);
            if (size && size < least) return false;
        }
    return true;
}

// Lanes as words: the upper half of x's lane l is word 2 l + 1, that of y's is 32 more.
__attribute__((target("avx512f,avx512bw"))) inline Splitter splitter(bool is_in_turn, int exponent,
                                                                     const SplitLargest& largest) {
    alignas(64) uint16_t words[2 * lanes];
    for (int64_t i = 0; i < 2 * lanes; ++i)
        words[i] = uint16_t(is_in_turn ? i / 2 * 2 + 1 + i % 2 * 32 : i % lanes * 2 + 1 + i / lanes * 32);
    return {_mm512_load_si512(words), _mm512_set1_ps(std::ldexp(1.0f, exponent)),
            _mm512_load_si512(largest.bits)};
}

__attribute__((target("avx512f,avx512bw"))) void pack_rows(const SplitSource& source, int exponent,
                                                           SplitStep* packed, SplitLargest& largest) {
    Splitter s = splitter(false, exponent, largest);
    for (int64_t k = 0; k < source.depth; k += split_depth, ++packed)
        for (int64_t tile = 0; tile < 2; ++tile) {
            __m512 left[lanes], right[lanes];
            load(source, tile * tile_rows, k, true, left);
            load(source, tile * tile_rows, k + lanes, true, right);
            for (int64_t i = 0; i < lanes; ++i)
                emit(s, left[i], right[i], packed->bytes + tile * tile_bytes + i * tile_row_bytes);
        }
    _mm512_store_si512(largest.bits, s.largest);
}

__attribute__((target("avx512f,avx512bw"))) void pack_columns(const SplitSource& source, int exponent,
                                                              SplitStep* packed, SplitLargest& largest) {
    Splitter s = splitter(true, exponent, largest);
    for (int64_t k = 0; k < source.depth; k += split_depth, ++packed)
        for (int64_t tile = 0; tile < 2; ++tile)
            for (int64_t half = 0; half < 2; ++half) {
                __m512 x[lanes];
                load(source, tile * tile_rows, k + half * lanes, false, x);
                std::byte* to = packed->bytes + tile * tile_bytes + half * tile_bytes / 2;
                for (int64_t i = 0; i < lanes; i += 2) emit(s, x[i], x[i + 1], to + i / 2 * tile_row_bytes);
            }
    _mm512_store_si512(largest.bits, s.largest);
}

// Pairs of vectors of a whole step: of a row, or of columns at k and k + 1. Strides count floats: to the next
// pair, to the 17th, to the second vector of a pair, to the next step.
struct Pairs {
    const float* first;
    int64_t line, half, other, step;
};
Pairs pairs_of(const SplitSource& s, bool is_of_columns) {
    if (is_of_columns) return {s.first, 2 * s.depth_stride, s.line_block, s.depth_stride, 2 * s.depth_block};
    return {s.first, s.line_stride, s.line_block, s.depth_block, 2 * s.depth_block};
}

// --- products ---

__attribute__((target("amx-tile"))) inline void load_rows(const std::byte* part) {
    _tile_loadd(4, part, tile_row_bytes);
    _tile_loadd(5, part + tile_bytes, tile_row_bytes);
}
__attribute__((target("amx-tile"))) inline void load_columns(const std::byte* part) {
    _tile_loadd(6, part, tile_row_bytes);
    _tile_loadd(7, part + tile_bytes, tile_row_bytes);
}
__attribute__((target("amx-tile,amx-bf16"))) inline void multiply_parts() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

// The parts of a step's work between its products.
constexpr int64_t groups = 6;

// Splits a panel.
class Splitting {
public:
    __attribute__((target("avx512f,avx512bw"))) explicit Splitting(const SplitMeanwhile& m)
        : pairs_(pairs_of(*m.source, m.is_of_columns)),
          ahead_(m.ahead),
          packed_(m.packed->bytes),
          splitter_(splitter(m.is_of_columns, usual_split_exponent, *m.largest)) {
        for (int64_t i = 0; i <= groups; ++i) bounds_[i] = m.first + (m.last - m.first) * i / groups;
    }
    __attribute__((target("avx512f,avx512bw"))) void work(int64_t group) {
        for (int64_t i = bounds_[group]; i < bounds_[group + 1]; ++i) {
            const float* x = pairs_.first + i / lanes * pairs_.half + i % lanes * pairs_.line;
            _mm_prefetch(x + ahead_, _MM_HINT_T1);
            _mm_prefetch(x + pairs_.other + ahead_, _MM_HINT_T1);
            emit(splitter_, _mm512_loadu_ps(x), _mm512_loadu_ps(x + pairs_.other),
                 packed_ + i * tile_row_bytes);
        }
    }
    void next_step() {
        pairs_.first += pairs_.step;
        packed_ += sizeof(SplitStep);
    }
    __attribute__((target("avx512f,avx512bw"))) void finish(SplitLargest& largest) const {
        _mm512_store_si512(largest.bits, splitter_.largest);
    }

private:
    Pairs pairs_;
    int64_t ahead_;
    std::byte* packed_;
    Splitter splitter_;
    int64_t bounds_[groups + 1];
};

// Stores sums row by row, the first 16 columns first.
class Storing {
public:
    Storing(const SplitPending& p, int64_t steps) : p_(p), per_group_(ceil_div(2 * p.rows, groups * steps)) {
        start();
    }
    __attribute__((target("avx512f,avx512bw"))) void work(int64_t) {
        for (int64_t i = 0; i < per_group_ && column_ < p_.columns; ++i) store();
    }
    void next_step() {}
    void finish() {
        while (column_ < p_.columns) store();
    }

private:
    void start() {
        row_ = 0;
        mask_ = first_lanes(p_.columns - column_);
        sums_ = p_.sums->values + column_;
        y_ = p_.to.y.at(0, column_);
        residual_ = p_.to.residual.first ? p_.to.residual.at(0, column_) : nullptr;
    }
    __attribute__((target("avx512f,avx512bw"))) void store() {
        __m512 y = _mm512_scalef_ps(_mm512_load_ps(sums_), _mm512_set1_ps(-float(p_.exponent)));
        if (p_.to.bias) y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask_, p_.to.bias + column_));
        if (residual_) {
            y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(mask_, residual_));
            residual_ += p_.to.residual.row_stride;
        }
        // If y is NaN, the second operand.
        if (p_.activation == Activation::relu) y = _mm512_max_ps(y, _mm512_setzero_ps());
        if (p_.activation == Activation::relu_keeps_nan) y = _mm512_max_ps(_mm512_setzero_ps(), y);
        _mm512_mask_storeu_ps(y_, mask_, y);
        sums_ += split_lines;
        y_ += p_.to.y.row_stride;
        if (++row_ < p_.rows) return;
        column_ += lanes;
        if (column_ < p_.columns) start();
    }

    const SplitPending& p_;
    int64_t per_group_, row_ = 0, column_ = 0;
    __mmask16 mask_ = 0;
    const float *sums_ = nullptr, *residual_ = nullptr;
    float* y_ = nullptr;
};

struct Idle {
    void work(int64_t) {}
    void next_step() {}
};

template <class First, class Second>
struct Both {
    First& first;
    Second& second;
    void work(int64_t group) {
        first.work(group);
        second.work(group);
    }
    void next_step() {
        first.next_step();
        second.next_step();
    }
};

__attribute__((target("amx-tile,avx512f,avx512bw"))) void zero_tiles() {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}
__attribute__((target("amx-tile"))) void store_tiles(SplitSums& sums) {
    constexpr int64_t row_bytes = split_lines * sizeof(float);
    float *upper = sums.values, *lower = upper + tile_rows * split_lines;
    _tile_stored(0, upper, row_bytes);
    _tile_stored(1, upper + lanes, row_bytes);
    _tile_stored(2, lower, row_bytes);
    _tile_stored(3, lower + lanes, row_bytes);
}

// Small products first. Two of a step's six parts are loaded twice, the others once.
template <class Work>
__attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw"))) inline void multiply_steps(
    const SplitStep* rows, const SplitStep* columns, int64_t steps, Work& work) {
    constexpr int64_t middle = part_bytes, low = 2 * part_bytes;
    for (int64_t step = 0; step < steps; ++step, work.next_step()) {
        const std::byte *a = rows[step].bytes, *b = columns[step].bytes;
        load_rows(a + low);
        load_columns(b);
        multiply_parts();
        work.work(0);
        load_rows(a + middle);
        multiply_parts();
        work.work(1);
        load_columns(b + middle);
        multiply_parts();
        work.work(2);
        load_rows(a);
        multiply_parts();
        work.work(3);
        load_columns(b + low);
        multiply_parts();
        work.work(4);
        load_columns(b);
        multiply_parts();
        work.work(5);
    }
}

}  // namespace

bool has_split_products() { return has_matrix_tiles(); }

std::optional<int> split_exponent(const SplitLargest& largest) {
    const uint32_t bits = *std::ranges::max_element(largest.bits);
    if (bits >= size_bits(std::numeric_limits<float>::infinity())) return std::nullopt;
    if (bits == 0 || (bits >= size_bits(0x1p-32f) && bits < size_bits(0x1p16f))) return usual_split_exponent;
    return std::min(largest_exponent - (int(bits >> exponent_shift) - exponent_bias), most_exponent);
}

std::optional<int> pack_split(const SplitSource& source, bool is_of_columns, int exponent,
                              SplitStep* packed) {
    const auto pack = is_of_columns ? pack_columns : pack_rows;
    SplitLargest largest;
    pack(source, exponent, packed, largest);
    const std::optional<int> fitting = split_exponent(largest);
    if (!fitting || !has_exact_parts(source, *fitting)) return std::nullopt;
    if (*fitting != exponent) pack(source, *fitting, packed, largest);
    return fitting;
}

bool can_split_meanwhile(const SplitSource& s, bool is_of_columns) {
    if (s.lines < split_lines || s.depth % split_depth) return false;
    return is_of_columns ? s.line_stride == 1 && s.depth_block == lanes * s.depth_stride
                         : s.depth_stride == 1;
}

__attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw"))) void multiply_split(
    const SplitStep* rows, const SplitStep* columns, int64_t steps, const SplitWork& work, SplitSums& sums) {
    zero_tiles();
    Idle idle;
    if (work.split && work.store) {
        Splitting splitting(*work.split);
        Storing storing(*work.store, steps);
        Both<Splitting, Storing> both{splitting, storing};
        multiply_steps(rows, columns, steps, both);
        splitting.finish(*work.split->largest);
    } else if (work.split) {
        Splitting splitting(*work.split);
        multiply_steps(rows, columns, steps, splitting);
        splitting.finish(*work.split->largest);
    } else if (work.store) {
        Storing storing(*work.store, steps);
        multiply_steps(rows, columns, steps, storing);
    } else {
        multiply_steps(rows, columns, steps, idle);
    }
    store_tiles(sums);
}

void store_split(const SplitPending& pending) { Storing(pending, 1).finish(); }

}  // namespace mge::cpu
