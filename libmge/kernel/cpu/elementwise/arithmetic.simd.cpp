// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/arithmetic.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/tables.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr NamedRows arithmetic_table[] = {
    {"abs", unary_rows<functor::Abs>},
    {"add", binary_rows<functor::Add>},
    {"ceil", unary_rows<functor::Ceil>},
    {"clip", unary_rows<functor::Clip>},
    {"div", binary_rows<functor::Div>},
    {"floor", unary_rows<functor::Floor>},
    {"floor_div", binary_rows<functor::FloorDiv>},
    {"maximum", binary_rows<functor::Maximum>},
    {"minimum", binary_rows<functor::Minimum>},
    {"mod", binary_rows<functor::Mod>},
    {"mul", binary_rows<functor::Mul>},
    {"neg", unary_rows<functor::Neg>},
    {"reciprocal", unary_rows<functor::Reciprocal>},
    {"round", unary_rows<functor::Round>},
    {"rsqrt", unary_rows<functor::Rsqrt>},
    {"sign", unary_rows<functor::Sign>},
    {"sqrt", unary_rows<functor::Sqrt>},
    {"square", unary_rows<functor::Square>},
    {"sub", binary_rows<functor::Sub>},
};

}  // namespace

RowTable arithmetic_rows() { return arithmetic_table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(arithmetic_rows);
RowTable arithmetic_row_table() { return HWY_DYNAMIC_DISPATCH(arithmetic_rows)(); }
}  // namespace mge::cpu
#endif
