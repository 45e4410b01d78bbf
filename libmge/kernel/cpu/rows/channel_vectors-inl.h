// SPDX-License-Identifier: Apache-2.0
// Vectors of neighbouring channels of images in blocks of channels (pointwise.h, depthwise.h), and the
// processing of sums before they are stored. Included by *.simd.cpp files after foreach_target.h and once per
// instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_CHANNEL_VECTORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_CHANNEL_VECTORS_H
#undef MGE_KERNEL_CPU_CHANNEL_VECTORS_H
#else
#define MGE_KERNEL_CPU_CHANNEL_VECTORS_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "libmge/kernel/activation.h"
#include "libmge/kernel/cpu/keep_nan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Channels = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Channels>;
constexpr int64_t lanes = hn::MaxLanes(Channels());
constexpr int64_t block = lanes == 16 ? 16 : 8;

// Loads from an array with an element per channel; zeros if it is null, and beyond its end.
HWY_INLINE Vec load_bias(const float* bias, int64_t channel, int64_t channels) {
    const Channels f;
    if (!bias || channel >= channels) return hn::Zero(f);
    if (channel + lanes <= channels) return hn::LoadU(f, bias + channel);
    HWY_ALIGN float rest[lanes] = {};
    for (int64_t i = channel; i < channels; ++i) rest[i - channel] = bias[i];
    return hn::Load(f, rest);
}

// Max and Min give the number, or their second operand, if the first one is NaN.
HWY_INLINE Vec relu(Vec y) { return hn::Max(y, hn::Zero(Channels())); }
HWY_INLINE Vec relu6(Vec y) { return relu(hn::Min(y, hn::Set(Channels(), 6.f))); }
HWY_INLINE Vec relu_keeps_nan(Vec y) { return at_least(hn::Zero(Channels()), y); }
HWY_INLINE Vec relu6_keeps_nan(Vec y) { return at_most(hn::Set(Channels(), 6.f), relu_keeps_nan(y)); }
HWY_INLINE Vec hswish(Vec y) {
    const Channels f;
    return hn::Mul(hn::Mul(y, relu6_keeps_nan(hn::Add(y, hn::Set(f, 3.f)))), hn::Set(f, 1.f / 6));
}

// Activations that are functions of their own, which run over rows.
HWY_INLINE bool is_apart(Activation activation) { return without_nan(activation) > Activation::hswish; }

}  // namespace
}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
