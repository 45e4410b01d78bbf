// SPDX-License-Identifier: Apache-2.0
// Bounds of vectors that leave NaN as it is. Included by *.simd.cpp files after foreach_target.h and once per
// instruction set, so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_KEEP_NAN_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_KEEP_NAN_H
#undef MGE_KERNEL_CPU_KEEP_NAN_H
#else
#define MGE_KERNEL_CPU_KEEP_NAN_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

// If one of two floats is NaN, Highway's Max and Min give the second on x86-64, and the number on Arm.
#if HWY_TARGET == HWY_NEON
template <class V>
HWY_INLINE V at_least(V bound, V x) {
    return V(vmaxq_f32(x.raw, bound.raw));
}
template <class V>
HWY_INLINE V at_most(V bound, V x) {
    return V(vminq_f32(x.raw, bound.raw));
}
#else
template <class V>
HWY_INLINE V at_least(V bound, V x) {
    return hwy::HWY_NAMESPACE::Max(bound, x);
}
template <class V>
HWY_INLINE V at_most(V bound, V x) {
    return hwy::HWY_NAMESPACE::Min(bound, x);
}
#endif

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
