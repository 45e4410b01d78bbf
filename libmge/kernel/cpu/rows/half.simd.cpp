// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/half.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/cpu/rows/round_half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<uint16_t, F32>;
constexpr U32 words;
constexpr U16 shorts;

// Full vectors by `vector(from, to)`, the rest one by one.
template <class From, class To, class Fn>
HWY_INLINE void for_vectors(const From* from, To* to, int64_t n, Fn vector) {
    const int64_t lanes = int64_t(hn::Lanes(F32()));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) vector(from + i, to + i);
    for (; i < n; ++i) to[i] = To(float(from[i]));
}

void f16_to_f32(const Half* from, float* to, int64_t n) {
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4  // no instruction for it; Highway's emulation flushes denormals
    for (int64_t i = 0; i < n; ++i) to[i] = float(from[i]);
#else
    const hn::Rebind<hwy::float16_t, F32> halves;
    for_vectors(from, to, n, [&](const Half* x, float* y) HWY_ATTR {
        auto h = hn::LoadU(halves, reinterpret_cast<const hwy::float16_t*>(x));
        hn::StoreU(hn::PromoteTo(F32(), h), F32(), y);
    });
#endif
}

void f32_to_f16(const float* from, Half* to, int64_t n) {
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4
    for (int64_t i = 0; i < n; ++i) to[i] = Half(from[i]);
#else
    const hn::Rebind<hwy::float16_t, F32> halves;
    for_vectors(from, to, n, [&](const float* x, Half* y) HWY_ATTR {
        hn::StoreU(hn::DemoteTo(halves, hn::LoadU(F32(), x)), halves, reinterpret_cast<hwy::float16_t*>(y));
    });
#endif
}

void bf16_to_f32(const BFloat16* from, float* to, int64_t n) {
    for_vectors(from, to, n, [&](const BFloat16* x, float* y) HWY_ATTR {
        auto bits = hn::PromoteTo(words, hn::LoadU(shorts, reinterpret_cast<const uint16_t*>(x)));
        hn::StoreU(hn::BitCast(F32(), hn::ShiftLeft<16>(bits)), F32(), y);
    });
}

void f32_to_bf16(const float* from, BFloat16* to, int64_t n) {
    for_vectors(from, to, n,
                [&](const float* x, BFloat16* y) HWY_ATTR { store_rounded(F32(), hn::LoadU(F32(), x), y); });
}

}  // namespace

HalfConversions half_conversions() { return {f16_to_f32, bf16_to_f32, f32_to_f16, f32_to_bf16}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(half_conversions);
const HalfConversions& conversions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(half_conversions)());
    return best;
}

constexpr int64_t block = 512;  // floats; three inputs and a result are 8 KB

template <class H, class R>
void rows_in_f32(const Rows& r) {
    alignas(64) std::array<std::array<float, block>, max_row_inputs> inputs;
    alignas(64) std::array<float, block> result;
    for (int64_t row = 0; row < r.rows; ++row)
        for (int64_t begin = 0; begin < r.n; begin += block) {
            Rows part;
            part.n = std::min(block, r.n - begin);
            part.functor = r.functor;
            part.is_scalar = r.is_scalar;
            for (int i = 0; i < max_row_inputs && r.in[size_t(i)]; ++i) {
                bool scalar = r.is_scalar[size_t(i)];
                auto& buffer = inputs[size_t(i)];
                halves_to_floats(r.input<H>(i, row) + (scalar ? 0 : begin), buffer.data(),
                                 scalar ? 1 : part.n);
                part.in[size_t(i)] = reinterpret_cast<const char*>(buffer.data());
            }
            if constexpr (std::is_same_v<R, bool>) {
                part.out = reinterpret_cast<char*>(r.output<bool>(row) + begin);
                r.inner(part);
            } else {
                part.out = reinterpret_cast<char*>(result.data());
                r.inner(part);
                floats_to_halves(result.data(), r.output<R>(row) + begin, part.n);
            }
        }
}

}  // namespace

void halves_to_floats(const Half* from, float* to, int64_t n) { conversions().f16_to_f32(from, to, n); }
void halves_to_floats(const BFloat16* from, float* to, int64_t n) { conversions().bf16_to_f32(from, to, n); }
void floats_to_halves(const float* from, Half* to, int64_t n) { conversions().f32_to_f16(from, to, n); }
void floats_to_halves(const float* from, BFloat16* to, int64_t n) { conversions().f32_to_bf16(from, to, n); }

RowsFn half_rows(DType half, DType result) {
    if (half == DType::f16)
        return result == DType::boolean ? rows_in_f32<Half, bool> : rows_in_f32<Half, Half>;
    return result == DType::boolean ? rows_in_f32<BFloat16, bool> : rows_in_f32<BFloat16, BFloat16>;
}

}  // namespace mge::cpu
#endif
