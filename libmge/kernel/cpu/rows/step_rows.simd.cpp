// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/step_rows.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/make_steps.h"
#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/rows/step_rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

using I8 = hn::Rebind<int8_t, I32>;
using U8 = hn::Rebind<uint8_t, I32>;
using Bytes = hn::Full128<uint8_t>;

constexpr int64_t side = 16;  // side of the squares that are transposed

HWY_INLINE Simd load_steps(const uint8_t* steps, bool is_signed) {
    const I32 wide;
    if (is_signed)
        return Simd(hn::ConvertTo(
            F32(), hn::PromoteTo(wide, hn::LoadU(I8(), reinterpret_cast<const int8_t*>(steps)))));
    return Simd(hn::ConvertTo(F32(), hn::PromoteTo(wide, hn::LoadU(U8(), steps))));
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

WantedSteps wanted(const StepMaking& m) {
    return {m.activation, m.is_even, m.y_scale, m.y_zero, m.lower, m.upper};
}

WantedSteps inner_steps(const StepMaking& m) {
    return {Activation::none, true, m.inner.scale, m.inner.zero, m.inner.lower(), m.inner.upper()};
}

// The operands of a real number: sums alone; or a residual, too; or any of inner steps, shifts and residuals.
enum class From : uint8_t { sums, residual, any };
template <class Block>
From kind_of_source(const StepMaking& m, const Block& b) {
    if (m.has_inner || b.shift) return From::any;
    return b.residual ? From::residual : From::sums;
}

// The real numbers of sums, without a residual.
template <From from>
class RealNumbers {
public:
    explicit RealNumbers(const StepMaking& m)
        : has_inner_(m.has_inner),
          may_correct_(inner_steps(m).may_correct()),
          corrected_(inner_steps(m)),
          divided_(inner_steps(m)),
          sign_(hn::Set(I32(), m.inner.is_signed ? 128 : 0)),
          zero_(Simd::fill(m.inner.zero)),
          scale_(Simd::fill(m.inner.scale)) {}
    // `shift` is null, or the address of as many numbers as a vector has.
    HWY_INLINE Simd operator()(hn::Vec<I32> sum, Simd scale, const float* shift) const {
        Simd real = Simd(hn::ConvertTo(F32(), sum)) * scale;
        if constexpr (from != From::any) return real;
        if (has_inner_) {
            auto steps = may_correct_ ? corrected_(real) : divided_(real);
            steps = hn::Sub(hn::Xor(hn::And(steps, hn::Set(I32(), 255)), sign_), sign_);
            real = (Simd(hn::ConvertTo(F32(), steps)) - zero_) * scale_;
        }
        return shift ? real + Simd::load(shift) : real;
    }

private:
    bool has_inner_, may_correct_;
    CorrectedEven corrected_;
    EvenSteps divided_;
    hn::Vec<I32> sign_;
    Simd zero_, scale_;
};

using Square = uint8_t[side][longest_block];  // steps of 16 pixels, those of a pixel contiguous

// The steps of 16 pixels (those beyond the last are never stored).
template <class StepsOf, From from>
void steps_of_pixels(const StepMaking& m, const StepBlock& b, int64_t first, const Square* residual,
                     Square& y) {
    const StepsOf steps_of(wanted(m));
    const RealNumbers<from> real_of(m);
    Simd residual_scale = Simd::fill(m.residual_scale), residual_zero = Simd::fill(m.residual_zero);
    const auto lanes = int64_t(simd_lanes());
    for (int64_t c = 0; c < b.channels; c += lanes) {
        auto start = hn::LoadU(I32(), b.start + c);
        Simd scale = Simd::load(b.scale + c);
        for (int64_t i = 0; i < side && first + i < b.pixels; ++i) {
            auto sum = hn::Add(hn::LoadU(I32(), b.sums + (first + i) * b.stride + c), start);
            Simd real = real_of(sum, scale, b.shift ? b.shift + c : nullptr);
            if (residual)
                real = real + (load_steps((*residual)[i] + c, m.is_residual_signed) - residual_zero) *
                                  residual_scale;
            hn::StoreU(low_bytes(steps_of(real)), U8(), y[i] + c);
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
    const bool is_any = kind_of_source(making, b) == From::any;
    auto* make = with_steps_of(wanted(making), [&]<class StepsOf>(std::type_identity<StepsOf>) {
        return is_any ? steps_of_pixels<StepsOf, From::any> : steps_of_pixels<StepsOf, From::residual>;
    });
    alignas(64) Square residual = {}, y = {};
    for (int64_t first = 0; first < b.pixels; first += side) {
        int64_t pixels = b.pixels - first < side ? b.pixels - first : side;
        if (b.residual) load_planes(b.residual + first, b.plane, pixels, b.channels, residual);
        make(making, b, first, b.residual ? &residual : nullptr, y);
        store_planes(y, b.y + first, b.plane, pixels, b.channels);
    }
}

// --- channels side by side ---

// Bytes after the first `count` belong to other threads or objects. Without byte masks, Highway's own
// functions access them.
HWY_INLINE hn::Vec<U8> load_first(const uint8_t* from, int64_t count) {
    const U8 d;
    if constexpr (HWY_TARGET <= HWY_AVX3) return hn::MaskedLoad(hn::FirstN(d, size_t(count)), d, from);
    if (count == int64_t(simd_lanes())) return hn::LoadU(d, from);
    HWY_ALIGN uint8_t some[hn::MaxLanes(d)] = {};
    for (int64_t i = 0; i < count; ++i) some[i] = from[i];
    return hn::Load(d, some);
}
HWY_INLINE void store_first(hn::Vec<U8> bytes, uint8_t* to, int64_t count) {
    const U8 d;
    if constexpr (HWY_TARGET <= HWY_AVX3) return hn::BlendedStore(bytes, hn::FirstN(d, size_t(count)), d, to);
    if (count == int64_t(simd_lanes())) return hn::StoreU(bytes, d, to);
    HWY_ALIGN uint8_t some[hn::MaxLanes(d)];
    hn::Store(bytes, d, some);
    for (int64_t i = 0; i < count; ++i) to[i] = some[i];
}

template <From from>
HWY_INLINE bool has_residual(const uint8_t* residual) {
    return from == From::any ? residual != nullptr : from == From::residual;
}

// As many channels as a vector has, or `count`.
template <class StepsOf, From from>
void rows_of_channels(const StepMaking& m, const StepRows& b, int64_t c, int64_t count) {
    const StepsOf steps_of(wanted(m));
    const RealNumbers<from> real_of(m);
    const float* shift = b.shift ? b.shift + c : nullptr;
    Simd scale = Simd::load(b.scale + c), residual_scale = Simd::fill(m.residual_scale);
    Simd residual_zero = Simd::fill(m.residual_zero);
    auto sign = hn::Set(I32(), m.is_residual_signed ? 128 : 0);
    auto start = hn::LoadU(I32(), b.start + c);
    const int32_t* sums = b.sums + c;
    const uint8_t* residual = b.residual ? b.residual + c : nullptr;
    uint8_t* y = b.y + c;
    const int64_t stride = b.stride, y_stride = b.y_stride;
    for (int64_t i = b.pixels; i > 0; --i, sums += stride, y += y_stride) {
        Simd real = real_of(hn::Add(hn::LoadU(I32(), sums), start), scale, shift);
        if (has_residual<from>(residual)) {
            auto wide = hn::PromoteTo(I32(), load_first(residual, count));
            wide = hn::Sub(hn::Xor(wide, sign), sign);
            real = real + (Simd(hn::ConvertTo(F32(), wide)) - residual_zero) * residual_scale;
            residual += y_stride;
        }
        store_first(low_bytes(steps_of(real)), y, count);
    }
}

bool are_at_most(const float* x, int64_t n, float most) {
    bool all_are = true;
    for (int64_t i = 0; i < n; i += int64_t(simd_lanes()))
        all_are &= all(abs(Simd::load(x + i)) <= Simd::fill(most));
    return all_are;
}

// Sums are less than 2^31.
bool may_bound_last(const StepMaking& m, const StepRows& b) {
    float residual = b.residual ? std::abs(m.residual_scale) * (std::abs(m.residual_zero) + 256) : 0;
    float most = m.y_scale * 0x1p-2f;
    if (b.shift && !are_at_most(b.shift, b.channels, most * 0x1p28f)) return false;
    const float shift = b.shift ? most * 0x1p28f : 0;
    if (m.has_inner) {
        const float inner = std::abs(m.inner.scale) * (std::abs(m.inner.zero) + 256);
        return wanted(m).may_bound_last(inner + shift + residual);
    }
    return are_at_most(b.scale, b.channels, most) &&
           wanted(m).may_bound_last(most * 0x1p31f + shift + residual);
}

// Quotients that are not less than 256 are out of bounds.
bool may_be_short(const StepMaking& m) {
    const WantedSteps steps = wanted(m);
    return m.y_may_be_short && std::max(std::abs(steps.lowest()), std::abs(steps.highest())) < 256;
}

// Numbers of each channel stay in registers if there are 32.
constexpr bool keeps_factors = HWY_TARGET == HWY_NEON;

// As many channels as two or four vectors have.
template <class More, From from, int vectors>
void rows_of_vectors(const StepMaking& m, const StepRows& b, int64_t c) {
    const More steps(wanted(m));
    const RealNumbers<from> real_of(m);
    const auto lanes = int64_t(simd_lanes());
    Simd residual_scale = Simd::fill(m.residual_scale), residual_zero = Simd::fill(m.residual_zero);
    const int32_t *sums = b.sums + c, *start = b.start + c;
    const float *scale = b.scale + c, *shift = b.shift ? b.shift + c : nullptr;
    const uint8_t* residual = b.residual ? b.residual + c : nullptr;
    const int64_t stride = b.stride, y_stride = b.y_stride;
    uint8_t* y = b.y + c;
    [[maybe_unused]] hn::Vec<I32> starts[vectors];
    [[maybe_unused]] hn::Vec<F32> scales[vectors];
    if constexpr (keeps_factors)
        for (int v = 0; v < vectors; ++v) {
            starts[v] = hn::LoadU(I32(), start + v * lanes);
            scales[v] = hn::LoadU(F32(), scale + v * lanes);
        }
    auto real = [&](int v) {
        const int64_t at = v * lanes;
        const auto started = keeps_factors ? starts[v] : hn::LoadU(I32(), start + at);
        const auto factor = keeps_factors ? scales[v] : hn::LoadU(F32(), scale + at);
        auto sum = hn::Add(hn::LoadU(I32(), sums + at), started);
        Simd x = real_of(sum, Simd(factor), shift ? shift + at : nullptr);
        if (has_residual<from>(residual))
            x = x + (load_steps(residual + at, m.is_residual_signed) - residual_zero) * residual_scale;
        return x;
    };
    for (int64_t i = b.pixels; i > 0; --i, sums += stride, y += y_stride) {
        if constexpr (vectors == 4)
            steps.store(real(0), real(1), real(2), real(3), y);
        else
            steps.store(real(0), real(1), y);
        if (has_residual<from>(residual)) residual += y_stride;
    }
}

template <class StepsOf, From from>
void make_rows_by(const StepMaking& making, const StepRows& b) {
    const auto lanes = int64_t(simd_lanes());
    auto* make_two = rows_of_vectors<OneByOne<StepsOf>, from, 2>;
    auto* make_four = rows_of_vectors<OneByOne<StepsOf>, from, 4>;
    const auto take = [&]<class Bounded>(std::type_identity<Bounded>) {
        make_two = rows_of_vectors<Bounded, from, 2>;
        make_four = rows_of_vectors<Bounded, from, 4>;
    };
    if (may_bound_last(making, b)) {
        if (may_be_short(making))
            with_bounds_last<ShortEven>(wanted(making), making.is_signed, take);
        else
            with_bounds_last(wanted(making), making.is_signed, take);
    }
    int64_t c = 0;
    for (; c + 4 * lanes <= b.channels; c += 4 * lanes) make_four(making, b, c);
    for (; c + 2 * lanes <= b.channels; c += 2 * lanes) make_two(making, b, c);
    for (; c < b.channels; c += lanes)
        rows_of_channels<StepsOf, from>(making, b, c, std::min(lanes, b.channels - c));
}

void make_rows(const StepMaking& making, const StepRows& rows) {
    auto* make = with_steps_of(wanted(making), [&]<class StepsOf>(std::type_identity<StepsOf>) {
        switch (kind_of_source(making, rows)) {
            case From::sums:
                return make_rows_by<StepsOf, From::sums>;
            case From::residual:
                return make_rows_by<StepsOf, From::residual>;
            default:
                return make_rows_by<StepsOf, From::any>;
        }
    });
    make(making, rows);
}

// x * y + z with one rounding, on processors without such an instruction, too.
HWY_INLINE Simd fused_multiply_add(Simd x, Simd y, Simd z) {
    if constexpr (HWY_NATIVE_FMA) return multiply_add(x, y, z);
    HWY_ALIGN float a[side], b[side], c[side];
    x.store(a);
    y.store(b);
    z.store(c);
    for (int64_t i = 0; i < int64_t(simd_lanes()); ++i) a[i] = std::fma(a[i], b[i], c[i]);
    return Simd::load(a);
}

// rounds_shortly() next to the given halves: for the nearest numbers on both sides of each.
constexpr int32_t numbers_around = 4;
bool rounds_shortly_near(const float* halves, int64_t n, float scale) {
    const Simd divisor = Simd::fill(scale), inverse = Simd::fill(1 / scale);
    const Simd rounded_off = Simd::fill(float(1 / double(scale) - double(1 / scale)));
    bool all_are = true;
    for (int64_t i = 0; i < n; i += int64_t(simd_lanes()))
        for (int32_t j = -numbers_around; j <= numbers_around; ++j) {
            // The bits of positive numbers are in their order.
            auto bits = hn::BitCast(I32(), Simd::load(halves + i).v);
            Simd x(hn::BitCast(F32(), hn::Add(bits, hn::Set(I32(), j))));
            Simd quotient = fused_multiply_add(x, inverse, x * rounded_off);
            all_are &= all(round_to_even(x / divisor) == round_to_even(quotient));
        }
    return all_are;
}

}  // namespace

using RoundsShortlyNear = bool (*)(const float* halves, int64_t n, float scale);
RoundsShortlyNear make_rounds_shortly_near() { return rounds_shortly_near; }

StepKernels make_step_kernels() { return {make_block, make_rows}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_step_kernels);

const StepKernels& step_kernels() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_step_kernels)());
    return best;
}

HWY_EXPORT(make_rounds_shortly_near);

// Both quotients are off by less than one of the last digits, so they can only round differently next to the
// halves. Those of negative numbers are alike.
bool rounds_shortly(float scale) {
    if (!(scale > 0x1p-60f && scale < 0x1p60f)) return false;
    static const auto rounds_shortly_near =
        (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_rounds_shortly_near)());
    constexpr size_t halves = 257, longest_vector = 16;
    std::array<float, (halves / longest_vector + 1) * longest_vector> half{};
    for (size_t i = 0; i < half.size(); ++i)
        half[i] = float((double(std::min(i, halves - 1)) + 0.5) * double(scale));
    return rounds_shortly_near(half.data(), int64_t(half.size()), scale);
}

}  // namespace mge::cpu
#endif
