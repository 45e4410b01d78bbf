// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/comparison.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/tables.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr NamedRows comparison_table[] = {
    {"equal", binary_rows<functor::Equal>},
    {"greater", binary_rows<functor::Greater>},
    {"greater_equal", binary_rows<functor::GreaterEqual>},
    {"isinf", unary_rows<functor::IsInf>},
    {"isnan", unary_rows<functor::IsNan>},
    {"less", binary_rows<functor::Less>},
    {"less_equal", binary_rows<functor::LessEqual>},
    {"not_equal", binary_rows<functor::NotEqual>},
};

}  // namespace

RowTable comparison_rows() { return comparison_table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(comparison_rows);
RowTable comparison_row_table() { return HWY_DYNAMIC_DISPATCH(comparison_rows)(); }
}  // namespace mge::cpu
#endif
