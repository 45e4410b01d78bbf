// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/byte_pairs.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <array>
#include <cstring>
#include <utility>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/byte_product.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/keep_in_order-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using I16 = hn::Repartition<int16_t, I32>;
using I8 = hn::Rebind<int8_t, I16>;
using U8 = hn::Rebind<uint8_t, I16>;

// As many sums as registers hold beside two words of the weight, one of a and a product.
constexpr size_t pair_rows = HWY_MAX_BYTES >= 64 ? 12 : 6;
constexpr int64_t word = 2;

template <size_t rows>
void multiply_panel(const ByteRows& a, const int8_t* w, int32_t* sums) {
    const I32 d;
    const auto lanes = int64_t(hn::Lanes(d));
    hn::Vec<I32> left[rows], right[rows], unused = hn::Zero(d);
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r) left[r] = right[r] = hn::Zero(d);
    for (int64_t part : a.parts) {
        const uint8_t* x = a.first + part;
        for (int64_t k = 0; k < a.part_bytes; k += word * int64_t(sizeof(int16_t)), w += 2 * word * lanes) {
            auto b0 = hn::PromoteTo(I16(), hn::LoadU(I8(), w));
            auto b1 = hn::PromoteTo(I16(), hn::LoadU(I8(), w + word * lanes));
#pragma GCC unroll 16
            for (size_t r = 0; r < rows; ++r) {
                int32_t pair;
                std::memcpy(&pair, x + k + int64_t(r) * a.stride, sizeof(pair));
                auto both = hn::BitCast(I16(), hn::Set(d, pair));
                left[r] = hn::ReorderWidenMulAccumulate(d, both, b0, left[r], unused);
                right[r] = hn::ReorderWidenMulAccumulate(d, both, b1, right[r], unused);
                keep_in_order(left[r]);
                keep_in_order(right[r]);
            }
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; ++r) {
        hn::StoreU(left[r], d, sums + int64_t(r) * product_columns);
        hn::StoreU(right[r], d, sums + int64_t(r) * product_columns + lanes);
    }
}

using MultiplyPanel = void (*)(const ByteRows&, const int8_t*, int32_t*);
template <size_t... rows>
constexpr auto panels_of(std::index_sequence<rows...>) {
    return std::array<MultiplyPanel, sizeof...(rows)>{multiply_panel<rows + 1>...};
}
constexpr auto multiply_panels = panels_of(std::make_index_sequence<pair_rows>());

int64_t panel() { return 2 * int64_t(hn::Lanes(I32())); }

void multiply(const ByteRows& a, const int8_t* weight, int32_t* sums) {
    int64_t k = 0;
    for (size_t part = 0; part < a.parts.size(); ++part) k += a.part_bytes / int64_t(sizeof(int16_t));
    for (int64_t c = 0; c < product_columns; c += panel())
        multiply_panels[size_t(a.count - 1)](a, weight + c * k, sums + c);
}
void nothing() {}

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

// Pair after pair of taps, the two of a channel side by side.
int64_t place_of_tap(int64_t tap, int64_t channel) {
    return tap / 2 * byte_channels * 2 + channel * 2 + tap % 2;
}

// `load` gives the channels from a place on.
template <class Load>
HWY_INLINE void multiply_channels(const ByteWindows& w, int64_t c, int64_t i, const Load& load) {
    const Channels bytes;
    const Pairs wide;
    const Sums d;
    const auto half = int64_t(hn::Lanes(d));
    auto sign = hn::Set(bytes, w.is_signed ? 128 : 0);
    auto lower = hn::Zero(d), upper = hn::Zero(d), unused = hn::Zero(d);
    const int8_t* weight = w.weight + c * 2;
    for (size_t t = 0; t < w.taps.size(); t += 2, weight += byte_channels * 2) {
        auto a = hn::Xor(load(w.taps[t] + i * w.step + c), sign);
        auto b = hn::Xor(load(w.taps[t + 1] + i * w.step + c), sign);
        auto x0 = hn::PromoteTo(wide, hn::InterleaveLower(bytes, a, b));
        auto x1 = hn::PromoteTo(wide, hn::InterleaveUpper(bytes, a, b));
        const hn::Rebind<int8_t, Pairs> weights;
        auto w0 = hn::PromoteTo(wide, hn::LoadU(weights, weight));
        auto w1 = hn::PromoteTo(wide, hn::LoadU(weights, weight + 2 * half));
        lower = hn::ReorderWidenMulAccumulate(d, x0, w0, lower, unused);
        upper = hn::ReorderWidenMulAccumulate(d, x1, w1, upper, unused);
    }
    hn::StoreU(lower, d, w.sums + i * byte_channels + c);
    hn::StoreU(upper, d, w.sums + i * byte_channels + c + half);
}

void multiply_windows(const ByteWindows& w) {
    const Channels bytes;
    const auto lanes = int64_t(hn::Lanes(bytes));
    for (int64_t c = 0; c < w.channels; c += lanes) {
        int64_t present = w.channels - c;
        if (present >= lanes) {
            auto whole = [&](const uint8_t* x) { return hn::LoadU(bytes, x); };
            for (int64_t i = 0; i < w.count; ++i) multiply_channels(w, c, i, whole);
            continue;
        }
        auto first = [&](const uint8_t* x) {
            HWY_ALIGN uint8_t some[hn::MaxLanes(bytes)] = {};
            for (int64_t j = 0; j < present; ++j) some[j] = x[j];
            return hn::Load(bytes, some);
        };
        for (int64_t i = 0; i < w.count; ++i) multiply_channels(w, c, i, first);
    }
}

}  // namespace

ByteWindowKernel make_pair_windows() { return {2, place_of_tap, multiply_windows}; }

ByteProduct make_pair_product() {
    return {.name = "pairs",
            .rows = pair_rows,
            .depth = word,
            .word = word,
            .panel = panel(),
            .takes_signed = false,
            .takes_wide = true,
            .begin = nothing,
            .end = nothing,
            .multiply = multiply,
            .multiply_signed = nullptr};
}
WidenBytes widen_function() { return widen; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_pair_product);
HWY_EXPORT(make_pair_windows);
HWY_EXPORT(widen_function);

const ByteProduct* pair_product() {
    static const ByteProduct product = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(make_pair_product)();
    }();
    return &product;
}

const ByteWindowKernel& pair_windows() {
    static const ByteWindowKernel kernel = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(make_pair_windows)();
    }();
    return kernel;
}

void widen_bytes(const uint8_t* x, int16_t* to, int64_t n, bool is_signed, int32_t zero) {
    static const WidenBytes best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(widen_function)();
    }();
    best(x, to, n, is_signed, zero);
}

}  // namespace mge::cpu
#endif
