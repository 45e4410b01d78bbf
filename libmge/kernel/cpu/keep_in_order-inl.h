// SPDX-License-Identifier: Apache-2.0
// Included by *.simd.cpp files after foreach_target.h and once per instruction set, so it has no #pragma
// once.

#if defined(MGE_KERNEL_CPU_KEEP_IN_ORDER_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_KEEP_IN_ORDER_H
#undef MGE_KERNEL_CPU_KEEP_IN_ORDER_H
#else
#define MGE_KERNEL_CPU_KEEP_IN_ORDER_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {

// What stands before is computed before what stands behind, where the vector is changed. A tile that fills
// all registers needs that: compilers compute the products of all its rows first, and spill most of them.
template <class Vector>
HWY_INLINE void keep_in_order(Vector& v) {
    asm volatile("" : "+v"(v.raw));
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
