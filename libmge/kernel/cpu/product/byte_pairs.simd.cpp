// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/byte_pairs.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/cpu/product/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using I16 = hn::Repartition<int16_t, I32>;
using I8 = hn::Rebind<int8_t, I16>;
using U8 = hn::Rebind<uint8_t, I16>;

// As many sums as fit in the registers besides two words of the weight, one of a and a product.
constexpr size_t pair_rows = HWY_MAX_BYTES >= 64 ? 12 : 6;
constexpr int64_t word = 2;

HWY_INLINE hn::Vec<I16> load_words(const int8_t* w) { return hn::PromoteTo(I16(), hn::LoadU(I8(), w)); }
HWY_INLINE hn::Vec<I16> load_words(const int16_t* w) { return hn::LoadU(I16(), w); }

template <class Weight, size_t rows>
void multiply_panel(const ByteRows& a, const Weight* w, int32_t* sums) {
    const I32 d;
    const auto lanes = int64_t(hn::Lanes(d));
    PairSums left[rows], right[rows];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r) left[r] = right[r] = no_pairs();
    for (int64_t part : a.parts) {
        const uint8_t* x = a.first + part;
        for (int64_t k = 0; k < a.part_bytes; k += word * int64_t(sizeof(int16_t)), w += 2 * word * lanes) {
            auto b0 = load_words(w), b1 = load_words(w + word * lanes);
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; ++r) {
                int32_t pair;
                std::memcpy(&pair, x + k + int64_t(r) * a.stride, sizeof(pair));
                auto both = hn::BitCast(I16(), hn::Set(d, pair));
                add_pairs(left[r], right[r], both, b0, b1);
            }
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r) {
        hn::StoreU(total(left[r]), d, sums + int64_t(r) * product_columns);
        hn::StoreU(total(right[r]), d, sums + int64_t(r) * product_columns + lanes);
    }
}

template <class Weight, size_t... rows>
constexpr auto panels_of(std::index_sequence<rows...>) {
    return std::array{&multiply_panel<Weight, rows + 1>...};
}

int64_t panel() { return 2 * int64_t(hn::Lanes(I32())); }

template <class Weight>
void multiply(const ByteRows& a, const Weight* weight, int32_t* sums) {
    static constexpr auto multiply_panels = panels_of<Weight>(std::make_index_sequence<pair_rows>());
    int64_t k = 0;
    for (size_t part = 0; part < a.parts.size(); ++part) k += a.part_bytes / int64_t(sizeof(int16_t));
    for (int64_t c = 0; c < a.columns; c += panel())
        multiply_panels[size_t(a.count - 1)](a, weight + c * k, sums + c);
}

void widen(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero) {
    const I16 d;
    const auto lanes = int64_t(hn::Lanes(d));
    auto sign = hn::Set(d, is_signed ? 128 : 0);
    auto offset = hn::Set(d, int16_t(zero + (is_signed ? 128 : 0)));
    auto widened = [&](const uint8_t* from) {
        return hn::Sub(hn::Xor(hn::PromoteTo(d, hn::LoadU(U8(), from)), sign), offset);
    };
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(widened(x + i), d, to + i);
    if (i == n) return;
    if (n >= lanes) return hn::StoreU(widened(x + n - lanes), d, to + n - lanes);
    for (; i < n; ++i) to[i] = int16_t((is_signed ? int8_t(x[i]) : x[i]) - zero);
}

// --- channels that do not mix ---

// Vectors of a half as many channels as pairs of bytes become, not longer than a block without lanes.
using Pairs = hn::CappedTag<int16_t, 16>;
using Channels = hn::Rebind<uint8_t, Pairs>;
using Sums = hn::RepartitionToWide<Pairs>;

#if HWY_TARGET == HWY_NEON
// Its products of i16 take a half of the channels each, and no pairs.
constexpr int64_t taps_together = 1;
int64_t place_of_tap(int64_t tap, int64_t channel) { return tap * byte_channels + channel; }
#else
// Pair after pair of taps, the two of a channel side by side, in the order in which the taps of x are
// interleaved: where lanes are halves of vectors, every second four channels come later.
int64_t place_of_tap(int64_t tap, int64_t channel) {
    constexpr int64_t lanes = hn::MaxLanes(Pairs()), four = 4;
    int64_t group = channel % lanes / four;
    if (lanes > 2 * four) group = group / 2 + group % 2 * 2;
    int64_t place = channel / lanes * lanes + group * four + channel % four;
    return tap / 2 * byte_channels * 2 + place * 2 + tap % 2;
}
constexpr int64_t taps_together = 2;
#endif

// Their sums, the first half of the channels before the second.
HWY_INLINE void store_sums(hn::Vec<Sums> lower, hn::Vec<Sums> upper, int32_t* to) {
    const Sums d;
    const auto half = int64_t(hn::Lanes(d));
    auto a = lower, b = upper;
    if constexpr (hn::MaxLanes(Pairs()) == 16) {
        a = hn::ConcatLowerLower(d, upper, lower);
        b = hn::ConcatUpperUpper(d, upper, lower);
    }
    hn::StoreU(a, d, to);
    hn::StoreU(b, d, to + half);
}

// The sums of the pixels from i on. `load` gives the channels from a place on.
template <int pixels, bool is_signed, class Load>
HWY_INLINE void multiply_channels(const ByteWindows& w, int64_t c, int64_t i, const Load& load) {
    const Channels bytes;
    const Pairs wide;
    const Sums d;
    const int64_t step = w.step;
    const auto sign = hn::Set(bytes, 128);
    auto widened = [&](const uint8_t* from) {
        auto x = load(from);
        if constexpr (is_signed) x = hn::Xor(x, sign);
        return hn::PromoteTo(wide, x);
    };
    hn::Vec<Sums> lower[pixels], upper[pixels];
#pragma GCC unroll 4
    for (int j = 0; j < pixels; ++j) lower[j] = upper[j] = hn::Zero(d);
    auto* weight = static_cast<const int16_t*>(w.weight) + taps_together * c;
#if HWY_TARGET == HWY_NEON
    for (size_t t = 0; t < w.taps.size(); ++t, weight += byte_channels) {
        const auto factors = hn::LoadU(wide, weight);
        const uint8_t* from = w.taps[t] + i * step + c;
#pragma GCC unroll 4
        for (int j = 0; j < pixels; ++j)
            lower[j] =
                hn::ReorderWidenMulAccumulate(d, widened(from + j * step), factors, lower[j], upper[j]);
    }
#else
    const auto lanes = int64_t(hn::Lanes(wide));
    auto rest = hn::Zero(d);
    for (size_t t = 0; t < w.taps.size(); t += 2, weight += 2 * byte_channels) {
        auto w0 = hn::LoadU(wide, weight), w1 = hn::LoadU(wide, weight + lanes);
        const uint8_t *from0 = w.taps[t] + i * step + c, *from1 = w.taps[t + 1] + i * step + c;
#pragma GCC unroll 4
        for (int j = 0; j < pixels; ++j) {
            auto a = widened(from0 + j * step), b = widened(from1 + j * step);
            auto x0 = hn::InterleaveLower(wide, a, b), x1 = hn::InterleaveUpper(wide, a, b);
            lower[j] = hn::ReorderWidenMulAccumulate(d, x0, w0, lower[j], rest);
            upper[j] = hn::ReorderWidenMulAccumulate(d, x1, w1, upper[j], rest);
        }
    }
#endif
#pragma GCC unroll 4
    for (int j = 0; j < pixels; ++j) store_sums(lower[j], upper[j], w.sums + (i + j) * byte_channels + c);
}

// As many pixels at once as leave registers for the weights.
template <bool is_signed, class Load>
void multiply_pixels(const ByteWindows& w, int64_t c, const Load& load) {
    constexpr int together = 4;
    int64_t i = 0;
    for (; i + together <= w.count; i += together) multiply_channels<together, is_signed>(w, c, i, load);
    for (; i < w.count; ++i) multiply_channels<1, is_signed>(w, c, i, load);
}

template <class Load>
void multiply_pixels(const ByteWindows& w, int64_t c, const Load& load) {
    auto* multiply = w.is_signed ? multiply_pixels<true, Load> : multiply_pixels<false, Load>;
    multiply(w, c, load);
}

void multiply_windows(const ByteWindows& w) {
    const Channels bytes;
    const auto lanes = int64_t(hn::Lanes(bytes));
    for (int64_t c = 0; c < w.channels; c += lanes) {
        int64_t present = w.channels - c;
        if (present >= lanes) {
            multiply_pixels(w, c, [&](const uint8_t* x) { return hn::LoadU(bytes, x); });
            continue;
        }
        auto first = [&](const uint8_t* x) {
            HWY_ALIGN uint8_t some[hn::MaxLanes(bytes)] = {};
            for (int64_t j = 0; j < present; ++j) some[j] = x[j];
            return hn::Load(bytes, some);
        };
        multiply_pixels(w, c, first);
    }
}

}  // namespace

ByteWindowKernel make_pair_windows() {
    return {taps_together, int64_t(sizeof(int16_t)), false, place_of_tap, multiply_windows};
}

ByteProduct make_pair_product() {
    return {.name = "pairs",
            .rows = pair_rows,
            .depth = word,
            .word = word,
            .panel = panel(),
            .takes_wide = true,
            .multiply = multiply<int8_t>,
            .multiply_signed = nullptr};
}
MultiplyPairs multiply_pairs_function() { return multiply<int16_t>; }
WidenBytes widen_function() { return widen; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_pair_product);
HWY_EXPORT(make_pair_windows);
HWY_EXPORT(multiply_pairs_function);
HWY_EXPORT(widen_function);

const ByteProduct* pair_product() {
    static const auto product = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_pair_product)());
    return &product;
}

const ByteWindowKernel& pair_windows() {
    static const auto kernel = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_pair_windows)());
    return kernel;
}

MultiplyPairs multiply_pairs() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(multiply_pairs_function)());
    return best;
}

void widen_bytes(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(widen_function)());
    best(x, to, n, is_signed, zero);
}

}  // namespace mge::cpu
#endif
