// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/comparison.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr RowTable comparison_table{
    RowsOf<cpu::functor::Equal>{binary_rows<functor::Equal>},
    RowsOf<cpu::functor::Greater>{binary_rows<functor::Greater>},
    RowsOf<cpu::functor::GreaterEqual>{binary_rows<functor::GreaterEqual>},
    RowsOf<cpu::functor::Isinf>{unary_rows<functor::Isinf>},
    RowsOf<cpu::functor::Isnan>{unary_rows<functor::Isnan>},
    RowsOf<cpu::functor::Less>{binary_rows<functor::Less>},
    RowsOf<cpu::functor::LessEqual>{binary_rows<functor::LessEqual>},
    RowsOf<cpu::functor::NotEqual>{binary_rows<functor::NotEqual>},
};

}  // namespace

const RowsFn* comparison_rows() { return comparison_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(comparison_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(comparison_rows)()[HWY_NAMESPACE::comparison_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Equal>() { return find<functor::Equal>(); }
template <> RowsFn simd_rows<functor::Greater>() { return find<functor::Greater>(); }
template <> RowsFn simd_rows<functor::GreaterEqual>() { return find<functor::GreaterEqual>(); }
template <> RowsFn simd_rows<functor::Isinf>() { return find<functor::Isinf>(); }
template <> RowsFn simd_rows<functor::Isnan>() { return find<functor::Isnan>(); }
template <> RowsFn simd_rows<functor::Less>() { return find<functor::Less>(); }
template <> RowsFn simd_rows<functor::LessEqual>() { return find<functor::LessEqual>(); }
template <> RowsFn simd_rows<functor::NotEqual>() { return find<functor::NotEqual>(); }
// clang-format on

}  // namespace mge::cpu
#endif
