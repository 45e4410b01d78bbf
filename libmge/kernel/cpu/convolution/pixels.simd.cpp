// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/pixels.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/convolution/pixels.h"
#include "libmge/kernel/cpu/highway_targets.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::RebindToSigned<F32>;
using U8 = hn::ScalableTag<uint8_t>;
using FewU8 = hn::Rebind<uint8_t, F32>;

constexpr size_t max_vector_bytes = 64;

// Stores one vector of bytes of colour c, as floats, at pixel i.
HWY_INLINE void store_colour(const PixelRange& r, int c, int64_t i, hn::Vec<U8> bytes) {
    HWY_ALIGN uint8_t buffer[max_vector_bytes];
    hn::Store(bytes, U8(), buffer);
    const F32 f;
    auto mean = hn::Set(f, r.mean[c]), scale = hn::Set(f, r.scale[c]);
    float* to = r.planes + c * r.plane + i;
    const size_t lanes = hn::Lanes(f);
    for (size_t j = 0; j < hn::Lanes(U8()); j += lanes) {
        auto x = hn::ConvertTo(f, hn::PromoteTo(I32(), hn::LoadU(FewU8(), buffer + j)));
        hn::StoreU(hn::Mul(hn::Sub(x, mean), scale), f, to + j);
    }
}

HWY_INLINE void finish_one_by_one(const PixelRange& r, int channels, int64_t i) {
    for (; i < r.count; ++i)
        for (int c = 0; c < channels; ++c)
            r.planes[c * r.plane + i] = (float(r.pixels[i * channels + c]) - r.mean[c]) * r.scale[c];
}

void three(const PixelRange& r) {
    const auto step = int64_t(hn::Lanes(U8()));
    int64_t i = 0;
    for (; i + step <= r.count; i += step) {
        hn::Vec<U8> a, b, c;
        hn::LoadInterleaved3(U8(), r.pixels + 3 * i, a, b, c);
        store_colour(r, 0, i, a);
        store_colour(r, 1, i, b);
        store_colour(r, 2, i, c);
    }
    finish_one_by_one(r, 3, i);
}

void four(const PixelRange& r) {
    const auto step = int64_t(hn::Lanes(U8()));
    int64_t i = 0;
    for (; i + step <= r.count; i += step) {
        hn::Vec<U8> a, b, c, d;
        hn::LoadInterleaved4(U8(), r.pixels + 4 * i, a, b, c, d);
        store_colour(r, 0, i, a);
        store_colour(r, 1, i, b);
        store_colour(r, 2, i, c);
        store_colour(r, 3, i, d);
    }
    finish_one_by_one(r, 4, i);
}

}  // namespace

PixelFunctions pixel_functions() { return {three, four}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(pixel_functions);
const PixelFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(pixel_functions)());
    return best;
}

}  // namespace

void split_three_colours(const PixelRange& range) { functions().three(range); }
void split_four_colours(const PixelRange& range) { functions().four(range); }

}  // namespace mge::cpu
#endif
