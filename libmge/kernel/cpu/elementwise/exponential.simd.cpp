// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/exponential.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/tables.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr NamedRows exponential_table[] = {
    {"erf", unary_rows<functor::Erf>},     {"exp", unary_rows<functor::Exp>},
    {"expm1", unary_rows<functor::Expm1>}, {"log", unary_rows<functor::Log>},
    {"log1p", unary_rows<functor::Log1p>}, {"logaddexp", binary_rows<functor::Logaddexp>},
    {"pow", binary_rows<functor::Pow>},
};

}  // namespace

RowTable exponential_rows() { return exponential_table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(exponential_rows);
RowTable exponential_row_table() { return HWY_DYNAMIC_DISPATCH(exponential_rows)(); }
}  // namespace mge::cpu
#endif
