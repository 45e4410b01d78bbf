// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/exponential.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr RowTable exponential_table{
    RowsOf<cpu::functor::Erf>{unary_rows<functor::Erf>},
    RowsOf<cpu::functor::Exp>{unary_rows<functor::Exp>},
    RowsOf<cpu::functor::Expm1>{unary_rows<functor::Expm1>},
    RowsOf<cpu::functor::Log>{unary_rows<functor::Log>},
    RowsOf<cpu::functor::Log1p>{unary_rows<functor::Log1p>},
    RowsOf<cpu::functor::Logaddexp>{binary_rows<functor::Logaddexp>},
    RowsOf<cpu::functor::Pow>{binary_rows<functor::Pow>},
};

}  // namespace

const RowsFn* exponential_rows() { return exponential_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(exponential_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(exponential_rows)()[HWY_NAMESPACE::exponential_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Erf>() { return find<functor::Erf>(); }
template <> RowsFn simd_rows<functor::Exp>() { return find<functor::Exp>(); }
template <> RowsFn simd_rows<functor::Expm1>() { return find<functor::Expm1>(); }
template <> RowsFn simd_rows<functor::Log>() { return find<functor::Log>(); }
template <> RowsFn simd_rows<functor::Log1p>() { return find<functor::Log1p>(); }
template <> RowsFn simd_rows<functor::Logaddexp>() { return find<functor::Logaddexp>(); }
template <> RowsFn simd_rows<functor::Pow>() { return find<functor::Pow>(); }
// clang-format on

}  // namespace mge::cpu
#endif
