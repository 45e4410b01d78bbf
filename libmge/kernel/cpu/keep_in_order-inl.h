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

// Adds to two sums, after both addends are computed and before the following code. A tile that fills all
// registers needs this order: compilers compute the products of all its rows first, and spill most of them,
// or put a sum in the register of an addend and copy it back.
template <class Vector>
HWY_INLINE void add_in_order(Vector& sum0, Vector& sum1, Vector added0, Vector added1) {
#ifdef __x86_64__
    asm volatile("" : "+v"(added0.raw), "+v"(added1.raw));
    sum0 = hwy::HWY_NAMESPACE::Add(sum0, added0);
    sum1 = hwy::HWY_NAMESPACE::Add(sum1, added1);
    asm volatile("" : "+v"(sum0.raw), "+v"(sum1.raw) : "v"(added0.raw), "v"(added1.raw));
#else
    asm volatile("" : "+w"(added0.raw), "+w"(added1.raw));
    sum0 = hwy::HWY_NAMESPACE::Add(sum0, added0);
    sum1 = hwy::HWY_NAMESPACE::Add(sum1, added1);
    asm volatile("" : "+w"(sum0.raw), "+w"(sum1.raw) : "w"(added0.raw), "w"(added1.raw));
#endif
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
