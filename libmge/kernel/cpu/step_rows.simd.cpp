// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/step_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <cstring>

#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"
#include "libmge/kernel/cpu/step_rows.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

using I8 = hn::Rebind<int8_t, I32>;
using U8 = hn::Rebind<uint8_t, I32>;
using Bytes = hn::Full128<uint8_t>;

constexpr int64_t side = 16;  // of the squares that are transposed

// As apply_activation, NaN included.
HWY_INLINE Simd activated(Activation activation, Simd x) {
    Simd zero(0.0), six(6.0);
    switch (activation) {
        case Activation::relu:
            return select(x > zero, x, zero);
        case Activation::relu6:
            return select(x < six, select(x > zero, x, zero), six);
        case Activation::hswish: {
            Simd shifted = x + Simd(3.0);
            return x * select(shifted < zero, zero, select(shifted > six, six, shifted)) / six;
        }
        default:
            return x;
    }
}

HWY_INLINE Simd load_steps(const uint8_t* steps, bool is_signed) {
    const I32 wide;
    if (is_signed)
        return Simd(hn::ConvertTo(
            F32(), hn::PromoteTo(wide, hn::LoadU(I8(), reinterpret_cast<const int8_t*>(steps)))));
    return Simd(hn::ConvertTo(F32(), hn::PromoteTo(wide, hn::LoadU(U8(), steps))));
}

HWY_INLINE void store_steps(Simd steps, bool is_signed, uint8_t* y) {
    auto wide = hn::ConvertTo(I32(), steps.v);
    if (is_signed)
        hn::StoreU(hn::DemoteTo(I8(), wide), I8(), reinterpret_cast<int8_t*>(y));
    else
        hn::StoreU(hn::DemoteTo(U8(), wide), U8(), y);
}

// to[c][r] = from[r][c]: four rounds of riffling the first eight rows with the last eight.
HWY_INLINE void transpose(const uint8_t* from, int64_t from_stride, uint8_t* to, int64_t to_stride) {
    const Bytes d;
    hn::Vec<Bytes> rows[side], next[side];
#pragma GCC unroll 16
    for (int64_t r = 0; r < side; ++r) rows[r] = hn::LoadU(d, from + r * from_stride);
#pragma GCC unroll 4
    for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
        for (int64_t r = 0; r < side / 2; ++r) {
            next[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + side / 2]);
            next[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + side / 2]);
        }
#pragma GCC unroll 16
        for (int64_t r = 0; r < side; ++r) rows[r] = next[r];
    }
#pragma GCC unroll 16
    for (int64_t r = 0; r < side; ++r) hn::StoreU(rows[r], d, to + r * to_stride);
}

using Square = uint8_t[side][longest_block];  // steps of 16 pixels, those of a pixel side by side

// The steps of 16 pixels (those beyond the last are never stored).
void steps_of_pixels(const StepMaking& m, const StepBlock& b, int64_t first, const Square* residual,
                     Square& y) {
    Simd inverse = Simd::fill(m.inverse_y_scale), zero = Simd::fill(m.y_zero);
    Simd lower = Simd::fill(m.lower), upper = Simd::fill(m.upper);
    Simd residual_scale = Simd::fill(m.residual_scale), residual_zero = Simd::fill(m.residual_zero);
    const auto lanes = int64_t(simd_lanes());
    for (int64_t c = 0; c < b.channels; c += lanes) {
        auto start = hn::LoadU(I32(), b.start + c);
        Simd scale = Simd::load(b.scale + c);
        for (int64_t i = 0; i < side && first + i < b.pixels; ++i) {
            auto sum = hn::Add(hn::LoadU(I32(), b.sums + (first + i) * b.stride + c), start);
            Simd real = Simd(hn::ConvertTo(F32(), sum)) * scale;
            if (residual)
                real = real + (load_steps((*residual)[i] + c, m.is_residual_signed) - residual_zero) *
                                  residual_scale;
            Simd step = round(activated(m.activation, real) * inverse) + zero;
            // NaN becomes the lowest.
            step = select(step > lower, select(step < upper, step, upper), lower);
            store_steps(step, m.is_signed, y[i] + c);
        }
    }
}

// Between a square and the planes of its channels; only `pixels` of the latter are touched.
void load_planes(const uint8_t* planes, int64_t plane, int64_t pixels, int64_t channels, Square& square) {
    uint8_t lines[side][side] = {};
    for (int64_t c = 0; c < channels; c += side) {
        for (int64_t i = 0; i < side && c + i < channels; ++i)
            std::memcpy(lines[i], planes + (c + i) * plane, size_t(pixels));
        transpose(lines[0], side, square[0] + c, longest_block);
    }
}
void store_planes(const Square& square, uint8_t* planes, int64_t plane, int64_t pixels, int64_t channels) {
    uint8_t lines[side][side];
    for (int64_t c = 0; c < channels; c += side) {
        bool is_whole = pixels == side && c + side <= channels;
        transpose(square[0] + c, longest_block, is_whole ? planes + c * plane : lines[0],
                  is_whole ? plane : side);
        if (is_whole) continue;
        for (int64_t i = 0; i < side && c + i < channels; ++i)
            std::memcpy(planes + (c + i) * plane, lines[i], size_t(pixels));
    }
}

void make_block(const StepMaking& making, const StepBlock& b) {
    alignas(64) Square residual = {}, y = {};
    for (int64_t first = 0; first < b.pixels; first += side) {
        int64_t pixels = b.pixels - first < side ? b.pixels - first : side;
        if (b.residual) load_planes(b.residual + first, b.plane, pixels, b.channels, residual);
        steps_of_pixels(making, b, first, b.residual ? &residual : nullptr, y);
        store_planes(y, b.y + first, b.plane, pixels, b.channels);
    }
}

}  // namespace

using MakeBlock = void (*)(const StepMaking&, const StepBlock&);
MakeBlock make_block_function() { return &make_block; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_block_function);

void make_steps(const StepMaking& making, const StepBlock& block) {
    static const auto best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(make_block_function)();
    }();
    best(making, block);
}

}  // namespace mge::cpu
#endif
