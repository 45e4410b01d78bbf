// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/arithmetic.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr RowTable arithmetic_table{
    RowsOf<cpu::functor::Abs>{unary_rows<functor::Abs>},
    RowsOf<cpu::functor::Add>{binary_rows<functor::Add>},
    RowsOf<cpu::functor::Ceil>{unary_rows<functor::Ceil>},
    RowsOf<cpu::functor::Clip>{unary_rows<functor::Clip>},
    RowsOf<cpu::functor::Div>{binary_rows<functor::Div>},
    RowsOf<cpu::functor::Floor>{unary_rows<functor::Floor>},
    RowsOf<cpu::functor::FloorDiv>{binary_rows<functor::FloorDiv>},
    RowsOf<cpu::functor::Maximum>{binary_rows<functor::Maximum>},
    RowsOf<cpu::functor::Minimum>{binary_rows<functor::Minimum>},
    RowsOf<cpu::functor::Mod>{binary_rows<functor::Mod>},
    RowsOf<cpu::functor::Mul>{binary_rows<functor::Mul>},
    RowsOf<cpu::functor::Neg>{unary_rows<functor::Neg>},
    RowsOf<cpu::functor::Reciprocal>{unary_rows<functor::Reciprocal>},
    RowsOf<cpu::functor::Round>{unary_rows<functor::Round>},
    RowsOf<cpu::functor::RoundToEven>{unary_rows<functor::RoundToEven>},
    RowsOf<cpu::functor::Rsqrt>{unary_rows<functor::Rsqrt>},
    RowsOf<cpu::functor::Sign>{unary_rows<functor::Sign>},
    RowsOf<cpu::functor::Sqrt>{unary_rows<functor::Sqrt>},
    RowsOf<cpu::functor::Square>{unary_rows<functor::Square>},
    RowsOf<cpu::functor::Sub>{binary_rows<functor::Sub>},
};

}  // namespace

const RowsFn* arithmetic_rows() { return arithmetic_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(arithmetic_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(arithmetic_rows)()[HWY_NAMESPACE::arithmetic_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Abs>() { return find<functor::Abs>(); }
template <> RowsFn simd_rows<functor::Add>() { return find<functor::Add>(); }
template <> RowsFn simd_rows<functor::Ceil>() { return find<functor::Ceil>(); }
template <> RowsFn simd_rows<functor::Clip>() { return find<functor::Clip>(); }
template <> RowsFn simd_rows<functor::Div>() { return find<functor::Div>(); }
template <> RowsFn simd_rows<functor::Floor>() { return find<functor::Floor>(); }
template <> RowsFn simd_rows<functor::FloorDiv>() { return find<functor::FloorDiv>(); }
template <> RowsFn simd_rows<functor::Maximum>() { return find<functor::Maximum>(); }
template <> RowsFn simd_rows<functor::Minimum>() { return find<functor::Minimum>(); }
template <> RowsFn simd_rows<functor::Mod>() { return find<functor::Mod>(); }
template <> RowsFn simd_rows<functor::Mul>() { return find<functor::Mul>(); }
template <> RowsFn simd_rows<functor::Neg>() { return find<functor::Neg>(); }
template <> RowsFn simd_rows<functor::Reciprocal>() { return find<functor::Reciprocal>(); }
template <> RowsFn simd_rows<functor::Round>() { return find<functor::Round>(); }
template <> RowsFn simd_rows<functor::RoundToEven>() { return find<functor::RoundToEven>(); }
template <> RowsFn simd_rows<functor::Rsqrt>() { return find<functor::Rsqrt>(); }
template <> RowsFn simd_rows<functor::Sign>() { return find<functor::Sign>(); }
template <> RowsFn simd_rows<functor::Sqrt>() { return find<functor::Sqrt>(); }
template <> RowsFn simd_rows<functor::Square>() { return find<functor::Square>(); }
template <> RowsFn simd_rows<functor::Sub>() { return find<functor::Sub>(); }
// clang-format on

}  // namespace mge::cpu
#endif
