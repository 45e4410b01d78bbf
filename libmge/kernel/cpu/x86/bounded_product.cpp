// SPDX-License-Identifier: Apache-2.0
// Byte products for processors that add two products in 16 bits (vpmaddubsw, AVX2), exact where that
// instruction saturates, too. Along k, a panel is divided into groups of four words. In a group, the sums of
// a column stay in 16 bits: a lane has the products of two bytes of each word, eight in all. With
// x = zero point + s, Cauchy and Schwarz bound the true sum of a lane:
//     |Σ s w| <= norm(s) norm(w), the norms being those of the lane's eight numbers.
// If the bound fits in 16 bits, sums may wrap on the way to it. One instruction must not saturate:
//     |x0 w0 + x1 w1| <= zero point |w0 + w1| + norm(s0, s1) norm(w0, w1).
// If that is too large, the lowest x of the group may be subtracted from each x and from the zero point.
// The norms of the weight are stored in the panel, those of the rows are measured for each tile. Groups
// whose bounds are still too large are multiplied in 32 bits; the results are the same.
// Highway of Debian 12 has no byte products, so this uses the processor's intrinsics.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/product/byte_product.h"

namespace mge::cpu {
namespace {

// 12 sums, two words of the weight, one of the rows and a product in 16 registers.
constexpr int most_rows = 6;
constexpr int64_t lanes = 8, word = 4, panel_columns = 2 * lanes, words = 4, depth = words * word;
constexpr int64_t group_bytes = panel_columns * depth;
// Bounds are stored for eight groups at a time: those of the panel and those of a tile.
constexpr int64_t together = 8, panel_bounds = 3, tile_bounds = 3;
constexpr float limit = 32766;  // less than the largest number by more than the norms are rounded

int64_t blocks_of(int64_t groups) { return ceil_div(groups, together); }

// A panel: the words of all groups, then for each group the sums of the weight of each lane, then the bounds.
struct PanelParts {
    const int8_t* words;
    const int16_t* lane_sums;
    const float* bounds;

    PanelParts(const int8_t* panel, int64_t groups)
        : words(panel),
          lane_sums(reinterpret_cast<const int16_t*>(panel + groups * group_bytes)),
          bounds(reinterpret_cast<const float*>(lane_sums + groups * 2 * panel_columns)) {}
};

int64_t bytes_of_panel(int64_t k) {
    const int64_t groups = k / depth;
    return k * panel_columns + groups * 2 * panel_columns * int64_t(sizeof(int16_t)) +
           blocks_of(groups) * panel_bounds * together * int64_t(sizeof(float));
}

// The largest norm of a lane, the largest sum and the largest norm of a pair.
struct GroupBounds {
    float lane = 0, pair_sum = 0, pair = 0;
};
GroupBounds bounds_of_group(const int8_t* weight, int16_t* lane_sums) {
    GroupBounds most;
    for (int64_t c = 0; c < panel_columns; ++c)
        for (int64_t lane = 0; lane < 2; ++lane) {
            int32_t squares = 0, sum = 0;
            for (int64_t i = 0; i < words; ++i) {
                const int8_t* w = weight + (i * panel_columns + c) * word + 2 * lane;
                const int32_t square = w[0] * w[0] + w[1] * w[1];
                squares += square;
                sum += w[0] + w[1];
                most.pair_sum = std::max(most.pair_sum, float(std::abs(w[0] + w[1])));
                most.pair = std::max(most.pair, float(square));
            }
            lane_sums[2 * c + lane] = int16_t(sum);
            most.lane = std::max(most.lane, float(squares));
        }
    return {std::sqrt(most.lane), most.pair_sum, std::sqrt(most.pair)};
}

void complete_panel(int8_t* panel, int64_t k) {
    const int64_t groups = k / depth;
    const PanelParts parts(panel, groups);
    auto* lane_sums = const_cast<int16_t*>(parts.lane_sums);
    auto* bounds = const_cast<float*>(parts.bounds);
    std::fill_n(bounds, blocks_of(groups) * panel_bounds * together, 0.f);
    for (int64_t g = 0; g < groups; ++g) {
        const GroupBounds b = bounds_of_group(panel + g * group_bytes, lane_sums + g * 2 * panel_columns);
        float* to = bounds + g / together * panel_bounds * together + g % together;
        to[0] = b.lane;
        to[together] = b.pair_sum;
        to[2 * together] = b.pair;
    }
}

int64_t groups_of(const ByteRows& a) { return int64_t(a.parts.size()) * (a.part_bytes / depth); }
int64_t measures_of_tile(int64_t k) { return blocks_of(k / depth) * tile_bounds * together; }

template <bool is_signed>
__attribute__((target("avx2"), always_inline)) inline __m256i unsigned_bytes(__m256i x) {
    return is_signed ? _mm256_xor_si256(x, _mm256_set1_epi8(char(0x80))) : x;
}

// The largest of the even and of the odd elements.
__attribute__((target("avx2"), always_inline)) inline __m128i largest_halves(__m256i x) {
    __m128i most = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    return _mm_max_epi32(most, _mm_unpackhi_epi64(most, most));
}
__attribute__((target("avx2"), always_inline)) inline float largest(__m256i x) {
    __m128i most = largest_halves(x);
    most = _mm_max_epi32(most, _mm_shuffle_epi32(most, 1));
    return float(_mm_cvtsi128_si32(most));
}

__attribute__((target("avx2"), always_inline)) inline float lowest(__m128i bytes) {
    bytes = _mm_min_epu8(bytes, _mm_srli_epi16(bytes, 8));
    return float(_mm_extract_epi16(_mm_minpos_epu16(_mm_and_si128(bytes, _mm_set1_epi16(255))), 0));
}

// The squares of the largest norms of a lane and of a pair, then the lowest byte.
template <bool is_signed>
__attribute__((target("avx2"))) void measure(const ByteRows& a, float* to) {
    const __m256i zero = _mm256_set1_epi16(int16_t(a.zero));
    const int64_t groups = groups_of(a);
    std::fill_n(to, blocks_of(groups) * tile_bounds * together, 0.f);
    int64_t g = 0;
    for (int64_t part : a.parts)
        for (int64_t k = 0; k < a.part_bytes; k += depth, ++g) {
            const uint8_t* x = a.first + part + k;
            __m256i most_pair = _mm256_setzero_si256(), most_lane = most_pair;
            __m128i least = _mm_set1_epi8(-1);
            for (int64_t r = 0; r < a.count; ++r, x += a.stride) {
                const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
                const __m256i wide = is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
                const __m256i s = _mm256_sub_epi16(wide, zero);
                least =
                    _mm_min_epu8(least, is_signed ? _mm_xor_si128(bytes, _mm_set1_epi8(char(0x80))) : bytes);
                const __m256i pairs = _mm256_madd_epi16(s, s);
                most_pair = _mm256_max_epi32(most_pair, pairs);
                __m256i sum = _mm256_add_epi32(pairs, _mm256_permute4x64_epi64(pairs, 0x4e));
                sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4e));
                most_lane = _mm256_max_epi32(most_lane, sum);
            }
            float* at = to + g / together * tile_bounds * together + g % together;
            at[0] = largest(most_lane);
            at[together] = largest(most_pair);
            at[2 * together] = lowest(least);
        }
    for (int64_t i = 0; i < blocks_of(groups); ++i, to += tile_bounds * together) {
        _mm256_storeu_ps(to, _mm256_sqrt_ps(_mm256_loadu_ps(to)));
        _mm256_storeu_ps(to + together, _mm256_sqrt_ps(_mm256_loadu_ps(to + together)));
    }
}

// Bit i: the sums of group i fit in 16 bits, or do so if the lowest byte is subtracted.
struct FittingGroups {
    unsigned plain = 0, lowered = 0;
};
__attribute__((target("avx2"), always_inline)) inline FittingGroups fitting_groups(const float* panel,
                                                                                   const float* tile,
                                                                                   __m256 zero) {
    const __m256 most = _mm256_set1_ps(limit), sign = _mm256_set1_ps(-0.f);
    const __m256 lane = _mm256_mul_ps(_mm256_loadu_ps(panel), _mm256_loadu_ps(tile));
    const __m256 pair_sum = _mm256_loadu_ps(panel + together);
    const __m256 pair =
        _mm256_mul_ps(_mm256_loadu_ps(panel + 2 * together), _mm256_loadu_ps(tile + together));
    const __m256 lowered_zero =
        _mm256_andnot_ps(sign, _mm256_sub_ps(zero, _mm256_loadu_ps(tile + 2 * together)));
    auto fits = [&](__m256 bound) __attribute__((target("avx2"), always_inline)) {
        return unsigned(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_max_ps(lane, bound), most, _CMP_LE_OQ)));
    };
    const __m256 zero_size = _mm256_andnot_ps(sign, zero);
    return {fits(_mm256_add_ps(pair, _mm256_mul_ps(zero_size, pair_sum))),
            fits(_mm256_add_ps(pair, _mm256_mul_ps(lowered_zero, pair_sum)))};
}

__attribute__((target("avx2"), always_inline)) inline __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
__attribute__((target("avx2"), always_inline)) inline __m256i word_at(const uint8_t* x) {
    int32_t value;
    std::memcpy(&value, x, sizeof(value));
    return _mm256_set1_epi32(value);
}
__attribute__((target("avx2"), always_inline)) inline void add_to(int32_t* sums, __m256i x) {
    auto* to = reinterpret_cast<__m256i*>(sums);
    _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), x));
}

struct GroupWeight {
    const int8_t* words;
    const int16_t* lane_sums;
};

// In assembly because GCC 12 orders the sums anew and keeps products in memory.
__attribute__((target("avx2"), always_inline)) inline __m256i first_sum(__m256i start, __m256i a, __m256i b) {
    __m256i sum;
    asm("vpmaddubsw %3, %2, %0\n\tvpaddw %1, %0, %0" : "=&x"(sum) : "xm"(start), "x"(a), "x"(b));
    return sum;
}
__attribute__((target("avx2"), always_inline)) inline void add_pairs(__m256i& sum, __m256i a, __m256i b) {
    __m256i pairs;
    asm("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(sum), "=&x"(pairs) : "x"(a), "x"(b));
}

// If is_lowered, the bytes are those of x less `lowest`.
template <int rows, bool is_signed, bool is_lowered>
__attribute__((target("avx2"), always_inline)) inline void add_in_16_bits(const uint8_t* x, int64_t stride,
                                                                          GroupWeight weight,
                                                                          __m256i minus_zero, __m256i lowest,
                                                                          int32_t* sums) {
    __m256i left[rows], right[rows];
    const __m256i start_left = _mm256_mullo_epi16(load(weight.lane_sums), minus_zero);
    const __m256i start_right = _mm256_mullo_epi16(load(weight.lane_sums + 2 * lanes), minus_zero);
#pragma GCC unroll 4
    for (int64_t i = 0; i < words; ++i) {
        const __m256i b0 = load(weight.words + i * panel_columns * word);
        const __m256i b1 = load(weight.words + i * panel_columns * word + lanes * word);
#pragma GCC unroll 6
        for (int r = 0; r < rows; ++r) {
            __m256i a = unsigned_bytes<is_signed>(word_at(x + r * stride + i * word));
            if constexpr (is_lowered) a = _mm256_sub_epi8(a, lowest);
            if (i == 0) {
                left[r] = first_sum(start_left, a, b0);
                right[r] = first_sum(start_right, a, b1);
            } else {
                add_pairs(left[r], a, b0);
                add_pairs(right[r], a, b1);
            }
        }
    }
    const __m256i one = _mm256_set1_epi16(1);
#pragma GCC unroll 6
    for (int r = 0; r < rows; ++r) {
        add_to(sums + r * product_columns, _mm256_madd_epi16(left[r], one));
        add_to(sums + r * product_columns + lanes, _mm256_madd_epi16(right[r], one));
    }
}

// Even and odd bytes apart, in 16 bits each.
template <int rows, bool is_signed>
__attribute__((target("avx2"), noinline)) void add_in_32_bits(const uint8_t* x, int64_t stride,
                                                              GroupWeight weight, int32_t zero,
                                                              int32_t* sums) {
    const __m256i low = _mm256_set1_epi16(255), factor = _mm256_set1_epi16(int16_t(-zero));
    __m256i even[2 * words], odd[2 * words];
#pragma GCC unroll 8
    for (int64_t i = 0; i < 2 * words; ++i) {
        const __m256i b = load(weight.words + i * lanes * word);
        even[i] = _mm256_srai_epi16(_mm256_slli_epi16(b, 8), 8);
        odd[i] = _mm256_srai_epi16(b, 8);
    }
    const __m256i start_left = _mm256_madd_epi16(load(weight.lane_sums), factor);
    const __m256i start_right = _mm256_madd_epi16(load(weight.lane_sums + 2 * lanes), factor);
    for (int r = 0; r < rows; ++r, x += stride, sums += product_columns) {
        __m256i left = start_left, right = start_right;
#pragma GCC unroll 4
        for (int64_t i = 0; i < words; ++i) {
            const __m256i a = unsigned_bytes<is_signed>(word_at(x + i * word));
            const __m256i a0 = _mm256_and_si256(a, low), a1 = _mm256_srli_epi16(a, 8);
            left = _mm256_add_epi32(left, _mm256_madd_epi16(a0, even[2 * i]));
            right = _mm256_add_epi32(right, _mm256_madd_epi16(a0, even[2 * i + 1]));
            left = _mm256_add_epi32(left, _mm256_madd_epi16(a1, odd[2 * i]));
            right = _mm256_add_epi32(right, _mm256_madd_epi16(a1, odd[2 * i + 1]));
        }
        add_to(sums, left);
        add_to(sums + lanes, right);
    }
}

template <bool is_signed, int rows>
__attribute__((target("avx2"))) void multiply_panel(const ByteRows& a, const PanelParts& panel,
                                                    int32_t* sums) {
    const int32_t zero = a.zero + (is_signed ? 128 : 0);  // the zero point of the unsigned bytes
    const __m256 real_zero = _mm256_set1_ps(float(zero));
    for (int r = 0; r < rows; ++r) std::fill_n(sums + r * product_columns, panel_columns, 0);
    const float *bounds = panel.bounds, *measures = a.measures - tile_bounds * together;
    const int8_t* weight = panel.words;
    const int16_t* lane_sums = panel.lane_sums;
    const __m256i minus_zero = _mm256_set1_epi16(int16_t(-zero));
    FittingGroups fitting;
    int64_t g = 0;
    for (int64_t part : a.parts) {
        const uint8_t *x = a.first + part, *end = x + a.part_bytes;
        for (; x < end; x += depth, ++g) {
            if (g % together == 0) {
                measures += tile_bounds * together;
                fitting = fitting_groups(bounds, measures, real_zero);
                bounds += panel_bounds * together;
            }
            const unsigned bit = 1u << g % together;
            if (fitting.plain & bit) {
                add_in_16_bits<rows, is_signed, false>(x, a.stride, {weight, lane_sums}, minus_zero,
                                                       minus_zero, sums);
            } else if (fitting.lowered & bit) {
                const auto lowest = int32_t(measures[2 * together + g % together]);
                add_in_16_bits<rows, is_signed, true>(x, a.stride, {weight, lane_sums},
                                                      _mm256_set1_epi16(int16_t(lowest - zero)),
                                                      _mm256_set1_epi8(char(lowest)), sums);
            } else {
                add_in_32_bits<rows, is_signed>(x, a.stride, {weight, lane_sums}, zero, sums);
            }
            weight += group_bytes;
            lane_sums += 2 * panel_columns;
        }
    }
}

template <bool is_signed, int... rows>
constexpr auto panels_of(std::integer_sequence<int, rows...>) {
    return std::array{&multiply_panel<is_signed, rows + 1>...};
}

template <bool is_signed>
void multiply(const ByteRows& a, const int8_t* weight, int32_t* sums) {
    static constexpr auto panels = panels_of<is_signed>(std::make_integer_sequence<int, most_rows>());
    const int64_t groups = groups_of(a), bytes = bytes_of_panel(groups * depth);
    for (int64_t c = 0; c < a.columns; c += panel_columns, weight += bytes)
        panels[size_t(a.count - 1)](a, PanelParts(weight, groups), sums + c);
}

constexpr ByteBounds bounds{bytes_of_panel, complete_panel, measures_of_tile, measure<false>, measure<true>};
constexpr ByteProduct bounded{.name = "bounded",
                              .rows = most_rows,
                              .depth = depth,
                              .word = word,
                              .panel = panel_columns,
                              .takes_wide = false,
                              .multiply = multiply<false>,
                              .multiply_signed = multiply<true>,
                              .bounds = &bounds};

}  // namespace

const ByteProduct* bounded_product() {
    return cpu_isa() >= Isa::avx2 && cpu_isa() < Isa::avx512 ? &bounded : nullptr;
}

}  // namespace mge::cpu
