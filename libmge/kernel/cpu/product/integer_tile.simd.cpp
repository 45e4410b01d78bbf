// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/product/integer_tile.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/product/integer_tile.h"
#include "libmge/kernel/cpu/product/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using I16 = hn::Repartition<int16_t, I32>;

// As many sums as fit in the registers besides two words of b and one of a.
constexpr int tile_rows = HWY_MAX_BYTES >= 64 ? 12 : 6;

void multiply(const int32_t* a, const int32_t* b, int64_t words, int32_t* sums, int64_t stride) {
    const I32 d;
    const I16 narrow;
    const auto lanes = int64_t(hn::Lanes(d));
    PairSums left[tile_rows], right[tile_rows];
#pragma GCC unroll 16
    for (int r = 0; r < tile_rows; ++r) left[r] = right[r] = no_pairs();
    for (int64_t i = 0; i < words; ++i, a += tile_rows, b += 2 * lanes) {
        auto b0 = hn::BitCast(narrow, hn::LoadU(d, b)), b1 = hn::BitCast(narrow, hn::LoadU(d, b + lanes));
#pragma GCC unroll 16
        for (int r = 0; r < tile_rows; ++r) {
            auto x = hn::BitCast(narrow, hn::Set(d, a[r]));
            add_pairs(left[r], right[r], x, b0, b1);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < tile_rows; ++r) {
        hn::StoreU(total(left[r]), d, sums + r * stride);
        hn::StoreU(total(right[r]), d, sums + r * stride + lanes);
    }
}

void multiply_apart(const ChannelWindows& w, int32_t* sums) {
    const I32 d;
    const hn::Rebind<int16_t, I32> narrow;
    for (int64_t c = 0; c < channels_together; c += int64_t(hn::Lanes(d)))
        for (int64_t i = 0; i < w.count; ++i) {
            auto sum = hn::Zero(d);
            const int16_t* x = w.x + i * w.step + c;
            for (int64_t t = 0; t < w.tap_count; ++t) {
                auto a = hn::PromoteTo(d, hn::LoadU(narrow, x + w.taps[t]));
                auto b = hn::PromoteTo(d, hn::LoadU(narrow, w.weight + t * channels_together + c));
                sum = hn::Add(sum, hn::Mul(a, b));
            }
            hn::StoreU(sum, d, sums + i * channels_together + c);
        }
}

}  // namespace

using MultiplyChannels = void (*)(const ChannelWindows&, int32_t*);
MultiplyChannels multiply_channels_function() { return &multiply_apart; }
IntegerTile make_pair_tile() { return {tile_rows, 2 * int64_t(hn::Lanes(I32())), 2, multiply}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_pair_tile);
HWY_EXPORT(multiply_channels_function);

const IntegerTile& pair_tile() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(make_pair_tile)());
    return best;
}

void multiply_channels(const ChannelWindows& windows, int32_t* sums) {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(multiply_channels_function)());
    best(windows, sums);
}

}  // namespace mge::cpu
#endif
