// SPDX-License-Identifier: Apache-2.0
// Stores vectors of floats as bf16. Included by *.simd.cpp files after foreach_target.h and once per
// instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_ROUND_HALF_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_ROUND_HALF_H
#undef MGE_KERNEL_CPU_ROUND_HALF_H
#else
#define MGE_KERNEL_CPU_ROUND_HALF_H
#endif

#include "hwy/highway.h"
#include "libmge/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Rounds to nearest even, as the scalar conversion of tensor/dtype.h.
template <class F>
HWY_INLINE void store_rounded(F, hn::Vec<F> x, BFloat16* to) {
    const hn::RebindToUnsigned<F> words;
    const hn::Rebind<uint16_t, F> shorts;
    auto bits = hn::BitCast(words, x), high = hn::ShiftRight<16>(bits);
    auto odd = hn::And(high, hn::Set(words, 1));
    auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(words, 0x7fff)), odd));
    auto quiet = hn::Or(high, hn::Set(words, 0x40));
    auto result = hn::IfThenElse(hn::RebindMask(words, hn::IsNaN(x)), quiet, rounded);
    const hn::RebindToSigned<decltype(words)> integers;
    hn::StoreU(hn::DemoteTo(shorts, hn::BitCast(integers, result)), shorts, reinterpret_cast<uint16_t*>(to));
}

}  // namespace
}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
