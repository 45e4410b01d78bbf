// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/byte_pairs.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <cstring>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/byte_product.h"
#include "libmge/kernel/cpu/highway_targets.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using I32 = hn::ScalableTag<int32_t>;
using I16 = hn::Repartition<int16_t, I32>;

constexpr int pair_rows = 6;
constexpr int64_t word = 4;

// Of each word, the even and the odd bytes are widened and multiplied as pairs.
void multiply(const ByteRows& a, const int8_t* weight, int32_t* sums) {
    const I32 d;
    const I16 narrow;
    const auto lanes = int64_t(hn::Lanes(d));
    for (int64_t c = 0; c < product_columns; c += lanes) {
        hn::Vec<I32> sum[pair_rows], unused = hn::Zero(d);
        for (auto& s : sum) s = hn::Zero(d);
        const int8_t* w = weight + c * word;
        for (int64_t part : a.parts)
            for (int64_t k = 0; k < a.part_bytes; k += word, w += product_columns * word) {
                auto four = hn::LoadU(narrow, reinterpret_cast<const int16_t*>(w));
                auto odd = hn::ShiftRight<8>(four), even = hn::ShiftRight<8>(hn::ShiftLeft<8>(four));
#pragma GCC unroll 8
                for (int r = 0; r < pair_rows; ++r) {
                    uint32_t x;
                    std::memcpy(&x, a.first + part + k + r * a.stride, sizeof(x));
                    constexpr uint32_t low_bytes = 0x00ff00ff;
                    auto x_even = hn::BitCast(narrow, hn::Set(d, int32_t(x & low_bytes)));
                    auto x_odd = hn::BitCast(narrow, hn::Set(d, int32_t(x >> 8 & low_bytes)));
                    sum[r] = hn::ReorderWidenMulAccumulate(d, x_even, even, sum[r], unused);
                    sum[r] = hn::ReorderWidenMulAccumulate(d, x_odd, odd, sum[r], unused);
                }
            }
        for (int r = 0; r < pair_rows; ++r) hn::StoreU(sum[r], d, sums + r * product_columns + c);
    }
}
void nothing() {}

}  // namespace

ByteProduct make_pair_product() {
    return {"pairs", pair_rows, word, false, nothing, nothing, multiply, nullptr};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(make_pair_product);

const ByteProduct* pair_product() {
    static const ByteProduct product = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(make_pair_product)();
    }();
    return &product;
}

}  // namespace mge::cpu
#endif
