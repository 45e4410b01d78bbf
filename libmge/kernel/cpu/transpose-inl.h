// SPDX-License-Identifier: Apache-2.0
// Transposes rows of f32. Included by *.simd.cpp files after foreach_target.h and once per instruction set,
// so it has no #pragma once.

#if defined(MGE_KERNEL_CPU_TRANSPOSE_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MGE_KERNEL_CPU_TRANSPOSE_H
#undef MGE_KERNEL_CPU_TRANSPOSE_H
#else
#define MGE_KERNEL_CPU_TRANSPOSE_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Four rows of four.
#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose(const float* from, int64_t from_step, float* to, int64_t to_step) {
    for (int64_t i = 0; i < 4; ++i)
        for (int64_t j = 0; j < 4; ++j) to[j * to_step + i] = from[i * from_step + j];
}
#else
HWY_INLINE void transpose(const float* from, int64_t from_step, float* to, int64_t to_step) {
    const hn::CappedTag<float, 4> f;
    auto a = hn::LoadU(f, from), b = hn::LoadU(f, from + from_step);
    auto c = hn::LoadU(f, from + 2 * from_step), d = hn::LoadU(f, from + 3 * from_step);
    auto ac = hn::InterleaveLower(f, a, c), bd = hn::InterleaveLower(f, b, d);
    auto ac_upper = hn::InterleaveUpper(f, a, c), bd_upper = hn::InterleaveUpper(f, b, d);
    hn::StoreU(hn::InterleaveLower(f, ac, bd), f, to);
    hn::StoreU(hn::InterleaveUpper(f, ac, bd), f, to + to_step);
    hn::StoreU(hn::InterleaveLower(f, ac_upper, bd_upper), f, to + 2 * to_step);
    hn::StoreU(hn::InterleaveUpper(f, ac_upper, bd_upper), f, to + 3 * to_step);
}
#endif

// to[k * to_step + r] = from[r * from_step + k]
HWY_INLINE void transpose_rows(const float* from, int64_t from_step, int64_t rows, int64_t columns, float* to,
                               int64_t to_step) {
    const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    auto move = [&](int64_t r, int64_t k) { to[k * to_step + r] = from[r * from_step + k]; };
    for (int64_t k = 0; k < whole_columns; k += 4)
        for (int64_t r = 0; r < whole_rows; r += 4)
            transpose(from + r * from_step + k, from_step, to + k * to_step + r, to_step);
    for (int64_t k = 0; k < whole_columns; ++k)
        for (int64_t r = whole_rows; r < rows; ++r) move(r, k);
    for (int64_t k = whole_columns; k < columns; ++k)
        for (int64_t r = 0; r < rows; ++r) move(r, k);
}

}  // namespace
}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
