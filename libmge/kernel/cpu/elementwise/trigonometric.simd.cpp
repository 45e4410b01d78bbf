// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/trigonometric.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr RowTable trigonometric_table{
    RowsOf<cpu::functor::Acos>{unary_rows<functor::Acos>},
    RowsOf<cpu::functor::Acosh>{unary_rows<functor::Acosh>},
    RowsOf<cpu::functor::Asin>{unary_rows<functor::Asin>},
    RowsOf<cpu::functor::Asinh>{unary_rows<functor::Asinh>},
    RowsOf<cpu::functor::Atan>{unary_rows<functor::Atan>},
    RowsOf<cpu::functor::Atan2>{binary_rows<functor::Atan2>},
    RowsOf<cpu::functor::Atanh>{unary_rows<functor::Atanh>},
    RowsOf<cpu::functor::Cos>{unary_rows<functor::Cos>},
    RowsOf<cpu::functor::Cosh>{unary_rows<functor::Cosh>},
    RowsOf<cpu::functor::Sin>{unary_rows<functor::Sin>},
    RowsOf<cpu::functor::Sinh>{unary_rows<functor::Sinh>},
    RowsOf<cpu::functor::Tan>{unary_rows<functor::Tan>},
    RowsOf<cpu::functor::Tanh>{unary_rows<functor::Tanh>},
};

}  // namespace

const RowsFn* trigonometric_rows() { return trigonometric_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(trigonometric_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(trigonometric_rows)()[HWY_NAMESPACE::trigonometric_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Acos>() { return find<functor::Acos>(); }
template <> RowsFn simd_rows<functor::Acosh>() { return find<functor::Acosh>(); }
template <> RowsFn simd_rows<functor::Asin>() { return find<functor::Asin>(); }
template <> RowsFn simd_rows<functor::Asinh>() { return find<functor::Asinh>(); }
template <> RowsFn simd_rows<functor::Atan>() { return find<functor::Atan>(); }
template <> RowsFn simd_rows<functor::Atan2>() { return find<functor::Atan2>(); }
template <> RowsFn simd_rows<functor::Atanh>() { return find<functor::Atanh>(); }
template <> RowsFn simd_rows<functor::Cos>() { return find<functor::Cos>(); }
template <> RowsFn simd_rows<functor::Cosh>() { return find<functor::Cosh>(); }
template <> RowsFn simd_rows<functor::Sin>() { return find<functor::Sin>(); }
template <> RowsFn simd_rows<functor::Sinh>() { return find<functor::Sinh>(); }
template <> RowsFn simd_rows<functor::Tan>() { return find<functor::Tan>(); }
template <> RowsFn simd_rows<functor::Tanh>() { return find<functor::Tanh>(); }
// clang-format on

}  // namespace mge::cpu
#endif
