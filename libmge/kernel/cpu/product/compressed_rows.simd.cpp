// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/compressed_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//

#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/compressed_rows.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using I32 = hn::Rebind<int32_t, F32>;
using U8 = hn::Rebind<uint8_t, F32>;
using Vec = hn::Vec<F32>;
constexpr int64_t lanes = hn::MaxLanes(F32());

// Number and positions of the steps in a byte: 8 bits have one position, 4 bits the low and the high half.
template <int bits>
inline constexpr int places = 8 / bits;

template <int bits, int place>
HWY_INLINE Vec steps_at(hn::Vec<I32> bytes) {
    if constexpr (bits == 4) bytes = place ? hn::ShiftRight<4>(bytes) : hn::And(bytes, hn::Set(I32(), 15));
    return hn::ConvertTo(F32(), bytes);
}
template <int bits>
HWY_INLINE float step_at(uint8_t byte, int place) {
    return float(bits == 8 ? byte : place ? byte >> 4 : byte & 15);
}
HWY_INLINE hn::Vec<I32> load_bytes(const uint8_t* bytes) {
    return hn::PromoteTo(I32(), hn::LoadU(U8(), bytes));
}

struct Scaling {
    float scale, zero;
};
HWY_INLINE Scaling scaling_of(const CompressedWeight& s, const CompressedData& d, int64_t row, int64_t g) {
    const int64_t at = row * s.groups() + g;
    return {d.scale[at], d.zero ? float(d.zero[at]) : float(s.middle())};
}

template <int bits>
void expand_group(const uint8_t* steps, int64_t columns, Scaling scaling, float* w) {
    const F32 f;
    const Vec scale = hn::Set(f, scaling.scale), zero = hn::Set(f, scaling.zero);
    auto real = [&](Vec step) { return hn::Mul(hn::Sub(step, zero), scale); };
    int64_t i = 0;  // columns
    for (; i + places<bits> * lanes <= columns; i += places<bits> * lanes) {
        auto bytes = load_bytes(steps + i / places<bits>);
        if constexpr (bits == 8)
            hn::StoreU(real(steps_at<8, 0>(bytes)), f, w + i);
        else
            hn::StoreInterleaved2(real(steps_at<4, 0>(bytes)), real(steps_at<4, 1>(bytes)), f, w + i);
    }
    for (; i < columns; ++i)
        w[i] = (step_at<bits>(steps[i / places<bits>], int(i % places<bits>)) - scaling.zero) * scaling.scale;
}

template <int bits>
void expand(const CompressedWeight& s, const CompressedData& d, int64_t first, int64_t last, float* w) {
    for (int64_t row = first; row < last; ++row, w += s.columns)
        for (int64_t g = 0; g < s.groups(); ++g)
            expand_group<bits>(d.steps + row * s.row_bytes() + g * s.group_bytes(), s.columns_of(g),
                               scaling_of(s, d, row, g), w + g * s.group);
}

// The products of M rows of x and N rows of w. A byte is loaded once and its steps become floats once for all
// rows of x.
template <int bits, int M, int N>
void multiply_tile(const CompressedWeight& s, const CompressedData& d, const OrderedRows& x, int64_t m,
                   int64_t n, float* y) {
    const F32 f;
    Vec sums[M][N];
    float rest[M][N] = {};
    for (auto& row : sums)
        for (auto& sum : row) sum = hn::Zero(f);
    for (int64_t g = 0; g < s.groups(); ++g) {
        const int64_t at = g * s.group_bytes();
        const int64_t used = ceil_div(s.columns_of(g), places<bits>);
        const float* rows[M];
        for (int r = 0; r < M; ++r) rows[r] = x.x + (m + r) * x.stride + at;
        const uint8_t* steps[N];
        Vec scale[N], zero[N];
        for (int c = 0; c < N; ++c) {
            steps[c] = d.steps + (n + c) * s.row_bytes() + at;
            scale[c] = hn::Set(f, scaling_of(s, d, n + c, g).scale);
            zero[c] = hn::Set(f, scaling_of(s, d, n + c, g).zero);
        }
        int64_t i = 0;
        for (; i + lanes <= used; i += lanes) {
#pragma GCC unroll 4
            for (int c = 0; c < N; ++c) {
                auto bytes = load_bytes(steps[c] + i);
                const Vec low = hn::Mul(hn::Sub(steps_at<bits, 0>(bytes), zero[c]), scale[c]);
#pragma GCC unroll 4
                for (int r = 0; r < M; ++r)
                    sums[r][c] = hn::MulAdd(low, hn::LoadU(f, rows[r] + i), sums[r][c]);
                if constexpr (bits == 4) {
                    const Vec high = hn::Mul(hn::Sub(steps_at<4, 1>(bytes), zero[c]), scale[c]);
#pragma GCC unroll 4
                    for (int r = 0; r < M; ++r)
                        sums[r][c] = hn::MulAdd(high, hn::LoadU(f, rows[r] + x.half_row + i), sums[r][c]);
                }
            }
        }
        for (; i < used; ++i)
            for (int c = 0; c < N; ++c)
                for (int place = 0; place < places<bits>; ++place) {
                    const Scaling scaling = scaling_of(s, d, n + c, g);
                    const float w = (step_at<bits>(steps[c][i], place) - scaling.zero) * scaling.scale;
                    for (int r = 0; r < M; ++r) rest[r][c] += w * rows[r][place * x.half_row + i];
                }
    }
    for (int r = 0; r < M; ++r)
        for (int c = 0; c < N; ++c)
            y[(m + r) * s.rows + n + c] = hn::GetLane(hn::SumOfLanes(f, sums[r][c])) + rest[r][c];
}

// ---- one row of x ----

// Scales and zero points apply to the sums of a group:
// sum of x * (step - zero) * scale = (sum of x * step - zero * sum of x) * scale

bool has_whole_vectors(const CompressedWeight& s) {
    return s.columns % s.group == 0 && s.group_bytes() % lanes == 0 && s.group * s.bits % 8 == 0;
}

template <int bits>
bool shift_row(const CompressedWeight& s, const OrderedRows& x, float* shifts) {
    if (!has_whole_vectors(s)) return false;
    const F32 f;
    const Vec factor = hn::Set(f, -float(s.middle()));
    for (int64_t g = 0; g < s.groups(); ++g) {
        Vec sum = hn::Zero(f);
        for (int64_t i = g * s.group_bytes(); i < (g + 1) * s.group_bytes(); i += lanes) {
            sum = hn::Add(sum, hn::LoadU(f, x.x + i));
            if constexpr (bits == 4) sum = hn::Add(sum, hn::LoadU(f, x.x + x.half_row + i));
        }
        hn::StoreU(hn::Mul(sum, factor), f, shifts + g * lanes);
    }
    return true;
}

// Steps of 4 bits as floats. With 16 lanes a permutation of 0 to 15 reads only the low 4 bits of each lane.
struct HalfBytes {
#if HWY_TARGET <= HWY_AVX3
    // GCC 14 gives the constructor that it would generate no vector instructions.
    HWY_INLINE HalfBytes() : table(hn::Iota(F32(), 0)) {}
    Vec table;
    HWY_INLINE Vec low(hn::Vec<I32> bytes) const {
        return hn::TableLookupLanes(table, hn::Indices512<float>{bytes.raw});
    }
    HWY_INLINE Vec high(hn::Vec<I32> bytes) const { return low(hn::ShiftRight<4>(bytes)); }
#else
    HWY_INLINE Vec low(hn::Vec<I32> bytes) const { return steps_at<4, 0>(bytes); }
    HWY_INLINE Vec high(hn::Vec<I32> bytes) const { return steps_at<4, 1>(bytes); }
#endif
};

// Rows are short, and a row ends where the processor's own prefetcher has found it: the rows of the tile that
// comes next but one are requested instead.
constexpr int64_t tiles_ahead = 2;

// The products of a row of x and N rows of w.
template <int bits, int N, bool has_zeros>
void multiply_row(const CompressedWeight& s, const CompressedData& d, const OrderedRows& x, int64_t n,
                  float* y) {
    const F32 f;
    const HalfBytes half_bytes;
    const int64_t groups = s.groups(), group_bytes = s.group_bytes();
    const float part_of_middle = 1 / float(s.middle());
    const float *row = x.x, *shift = x.shifts;
    const uint8_t* steps[N];
    for (int c = 0; c < N; ++c) steps[c] = d.steps + (n + c) * s.row_bytes();
    const int64_t ahead = tiles_ahead * N * s.row_bytes();
    Vec sums[N];
    for (auto& sum : sums) sum = hn::Zero(f);
    for (int64_t g = 0; g < groups; ++g, shift += lanes) {
        Vec of_group[N];
#pragma GCC unroll 4
        for (int c = 0; c < N; ++c) {
            hwy::Prefetch(steps[c] + g * group_bytes + ahead);
            of_group[c] = hn::LoadU(f, shift);
            if constexpr (has_zeros)
                of_group[c] =
                    hn::Mul(of_group[c], hn::Set(f, float(d.zero[(n + c) * groups + g]) * part_of_middle));
        }
        for (int64_t i = g * group_bytes; i < (g + 1) * group_bytes; i += lanes) {
            const Vec first = hn::LoadU(f, row + i);
            if constexpr (bits == 8) {
#pragma GCC unroll 4
                for (int c = 0; c < N; ++c)
                    of_group[c] = hn::MulAdd(steps_at<8, 0>(load_bytes(steps[c] + i)), first, of_group[c]);
            } else {
                const Vec second = hn::LoadU(f, row + x.half_row + i);
#pragma GCC unroll 4
                for (int c = 0; c < N; ++c) {
                    const auto bytes = load_bytes(steps[c] + i);
                    of_group[c] = hn::MulAdd(half_bytes.low(bytes), first, of_group[c]);
                    of_group[c] = hn::MulAdd(half_bytes.high(bytes), second, of_group[c]);
                }
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < N; ++c)
            sums[c] = hn::MulAdd(of_group[c], hn::Set(f, d.scale[(n + c) * groups + g]), sums[c]);
    }
    for (int c = 0; c < N; ++c) y[n + c] = hn::GetLane(hn::SumOfLanes(f, sums[c]));
}

template <int bits, bool has_zeros>
void multiply_row_by_all(const CompressedWeight& s, const CompressedData& d, const OrderedRows& x,
                         int64_t first, int64_t last, float* y) {
    int64_t n = first;
    for (; n + 4 <= last; n += 4) multiply_row<bits, 4, has_zeros>(s, d, x, n, y);
    for (; n < last; ++n) multiply_row<bits, 1, has_zeros>(s, d, x, n, y);
}

// ---- several rows of x ----

constexpr int most_rows = 4;

template <int bits, int N>
void multiply_columns(const CompressedWeight& s, const CompressedData& d, const OrderedRows& x, int64_t n,
                      float* y) {
    int64_t m = 0;
    for (; m + most_rows <= x.count; m += most_rows) multiply_tile<bits, most_rows, N>(s, d, x, m, n, y);
    const int64_t left = x.count - m;
    if (left == 3) multiply_tile<bits, 3, N>(s, d, x, m, n, y);
    if (left == 2) multiply_tile<bits, 2, N>(s, d, x, m, n, y);
    if (left == 1) multiply_tile<bits, 1, N>(s, d, x, m, n, y);
}

// One row of x needs several rows of w for independent sums; more rows exceed the registers.
template <int bits>
void multiply(const CompressedWeight& s, const CompressedData& d, const OrderedRows& x, int64_t first,
              int64_t last, float* y) {
    if (x.shifts && d.zero) return multiply_row_by_all<bits, true>(s, d, x, first, last, y);
    if (x.shifts) return multiply_row_by_all<bits, false>(s, d, x, first, last, y);
    int64_t n = first;
    if (x.count == 1)
        for (; n + 4 <= last; n += 4) multiply_tile<bits, 1, 4>(s, d, x, 0, n, y);
    for (; n + 2 <= last; n += 2) multiply_columns<bits, 2>(s, d, x, n, y);
    if (n < last) multiply_columns<bits, 1>(s, d, x, n, y);
}

}  // namespace

CompressedFunctions compressed_functions() {
    return {expand<8>, expand<4>, multiply<8>, multiply<4>, shift_row<8>, shift_row<4>};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(compressed_functions);
const CompressedFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(compressed_functions)());
    return best;
}

}  // namespace

void expand_rows(const CompressedWeight& shape, const CompressedData& data, int64_t first, int64_t last,
                 float* w) {
    (shape.bits == 8 ? functions().expand8 : functions().expand4)(shape, data, first, last, w);
}

int64_t ordered_floats(const CompressedWeight& shape, int64_t count) {
    constexpr int64_t most_lanes = 16;
    const int64_t floats = count * 2 * half_row_of(shape) + (count == 1 ? shape.groups() * most_lanes : 0);
    if (count != 1 || !has_digit_rows(shape)) return floats;
    return std::max(floats, digit_blocks(shape) * int64_t(sizeof(DigitBlock) / sizeof(float)));
}

OrderedRows order_rows(const CompressedWeight& shape, const float* x, int64_t count, bool has_zeros,
                       float* ordered) {
    if (auto* digits = reinterpret_cast<DigitBlock*>(ordered);
        count == 1 && !has_zeros && has_digit_rows(shape) && make_digits(shape, x, digits))
        return {.count = 1, .stride = 0, .half_row = 0, .x = nullptr, .digits = digits};
    const int64_t half = half_row_of(shape), columns = shape.columns;
    OrderedRows rows{count, half ? 2 * half : columns, half, half ? ordered : x};
    for (int64_t m = 0; half && m < count; ++m, x += columns) {
        float *even = ordered + m * 2 * half, *odd = even + half;
        for (int64_t i = 0; i < columns; i += 2) even[i / 2] = x[i];
        for (int64_t i = 1; i < columns; i += 2) odd[i / 2] = x[i];
        if (columns % 2) odd[half - 1] = 0;
    }
    float* shifts = ordered + count * 2 * half;
    auto shift = shape.bits == 8 ? functions().shift8 : functions().shift4;
    if (count == 1 && shift(shape, rows, shifts)) rows.shifts = shifts;
    return rows;
}

void multiply_rows(const CompressedWeight& shape, const CompressedData& data, const OrderedRows& x,
                   int64_t first, int64_t last, float* y) {
    if (x.digits) return multiply_digits(shape, data, x.digits, first, last, y);
    (shape.bits == 8 ? functions().multiply8 : functions().multiply4)(shape, data, x, first, last, y);
}

}  // namespace mge::cpu
#endif
