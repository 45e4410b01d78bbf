// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/integer_winograd.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/integer_winograd.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/byte_product.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t side = integer_tile_side, window = integer_window_side;

// --- the image ---

using I16 = hn::CappedTag<int16_t, integer_winograd_channels>;
using U8 = hn::Rebind<uint8_t, I16>;
using Elements = hn::Vec<I16>;

HWY_INLINE void points_of(const Elements (&d)[window], Elements (&p)[window]) {
    auto even = hn::Sub(d[4], hn::ShiftLeft<2>(d[2])), odd = hn::Sub(d[3], hn::ShiftLeft<2>(d[1]));
    auto far_even = hn::Sub(d[4], d[2]), far_odd = hn::Sub(d[3], d[1]);
    far_odd = hn::Add(far_odd, far_odd);
    p[0] = hn::Add(even, hn::Sub(hn::ShiftLeft<2>(d[0]), d[2]));
    p[1] = hn::Add(even, odd);
    p[2] = hn::Sub(even, odd);
    p[3] = hn::Add(far_even, far_odd);
    p[4] = hn::Sub(far_even, far_odd);
    p[5] = hn::Sub(hn::Sub(d[5], odd), hn::ShiftLeft<2>(d[3]));
}

void image_points(std::span<const uint8_t* const, integer_points> pixels, int64_t channels, bool is_signed,
                  int32_t zero, int16_t* to, int64_t stride) {
    const I16 d;
    auto sign = hn::Set(d, is_signed ? 128 : 0);
    auto offset = hn::Set(d, int16_t(zero + (is_signed ? 128 : 0)));
    for (int64_t c = 0; c < channels; c += int64_t(hn::Lanes(d))) {
        Elements lines[window][window];  // points along a line of the window
        for (int64_t h = 0; h < window; ++h) {
            Elements x[window];
            for (int64_t w = 0; w < window; ++w) {
                auto bytes = hn::LoadU(U8(), pixels[size_t(h * window + w)] + c);
                x[w] = hn::Sub(hn::Xor(hn::PromoteTo(d, bytes), sign), offset);
            }
            points_of(x, lines[h]);
        }
        for (int64_t w = 0; w < window; ++w) {
            Elements x[window], p[window];
            for (int64_t h = 0; h < window; ++h) x[h] = lines[h][w];
            points_of(x, p);
            for (int64_t h = 0; h < window; ++h) hn::StoreU(p[h], d, to + (h * window + w) * stride + c);
        }
    }
}

// --- the sums ---

using I32 = hn::CappedTag<int32_t, 16>;
using Sums = hn::Vec<I32>;

HWY_INLINE void sums_of(const Sums (&m)[window], Sums (&y)[side]) {
    auto near = hn::Add(m[1], m[2]), near_odd = hn::Sub(m[1], m[2]);
    auto far = hn::Add(m[3], m[4]), far_odd = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(hn::Sub(m[0], hn::ShiftLeft<2>(near)), far);
    y[1] = hn::Sub(far_odd, hn::Add(near_odd, near_odd));
    y[2] = hn::Sub(far, near);
    y[3] = hn::Add(hn::Sub(hn::Add(far_odd, far_odd), near_odd), m[5]);
}

// Rows of sums are multiplied by 24, 12, 6 and 6: three times a power of two.
template <int shift>
HWY_INLINE Sums divided(Sums y) {
    const I32 d;
    constexpr int32_t inverse_of_nine = 0x38e38e39;
    return hn::ShiftRight<shift>(hn::Mul(y, hn::Set(d, inverse_of_nine)));
}
template <int row_shift>
HWY_INLINE void store_row(const Sums (&y)[side], bool is_added, int32_t* to) {
    const I32 d;
    Sums s[side] = {divided<row_shift + 3>(y[0]), divided<row_shift + 2>(y[1]), divided<row_shift + 1>(y[2]),
                    divided<row_shift + 1>(y[3])};
    for (int64_t w = 0; w < side; ++w, to += product_columns)
        hn::StoreU(is_added ? hn::Add(hn::LoadU(d, to), s[w]) : s[w], d, to);
}

void sums(const int32_t* products, int64_t stride, int64_t columns, bool is_added, int32_t* to,
          int64_t line) {
    const I32 d;
    for (int64_t c = 0; c < columns; c += int64_t(hn::Lanes(d))) {
        Sums rows[side][window];
        for (int64_t w = 0; w < window; ++w) {
            Sums m[window], y[side];
            for (int64_t h = 0; h < window; ++h)
                m[h] = hn::LoadU(d, products + (h * window + w) * stride + c);
            sums_of(m, y);
            for (int64_t h = 0; h < side; ++h) rows[h][w] = y[h];
        }
        Sums y[side];
        sums_of(rows[0], y);
        store_row<3>(y, is_added, to + c);
        sums_of(rows[1], y);
        store_row<2>(y, is_added, to + line + c);
        sums_of(rows[2], y);
        store_row<1>(y, is_added, to + 2 * line + c);
        sums_of(rows[3], y);
        store_row<1>(y, is_added, to + 3 * line + c);
    }
}

}  // namespace

IntegerWinograd make_integer_winograd() { return {image_points, sums}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_integer_winograd);

const IntegerWinograd& integer_winograd() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_integer_winograd)());
    return best;
}

std::array<int16_t, integer_points> integer_weight_points(const std::array<int8_t, 9>& weight) {
    auto points = [](int a, int b, int c) {
        return std::array<int, integer_window_side>{
            6 * a, a + b + c, a - b + c, a + 2 * b + 4 * c, a - 2 * b + 4 * c, 6 * c};
    };
    std::array<std::array<int, integer_window_side>, 3> lines;
    for (size_t h = 0; h < 3; ++h) lines[h] = points(weight[3 * h], weight[3 * h + 1], weight[3 * h + 2]);
    std::array<int16_t, integer_points> all;
    for (size_t w = 0; w < size_t(integer_window_side); ++w) {
        auto column = points(lines[0][w], lines[1][w], lines[2][w]);
        for (size_t h = 0; h < size_t(integer_window_side); ++h)
            all[h * size_t(integer_window_side) + w] = int16_t(column[h]);
    }
    return all;
}

}  // namespace mge::cpu
#endif
