// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/trigonometric.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/tables.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr NamedRows trigonometric_table[] = {
    {"acos", unary_rows<functor::Acos>},   {"acosh", unary_rows<functor::Acosh>},
    {"asin", unary_rows<functor::Asin>},   {"asinh", unary_rows<functor::Asinh>},
    {"atan", unary_rows<functor::Atan>},   {"atan2", binary_rows<functor::Atan2>},
    {"atanh", unary_rows<functor::Atanh>}, {"cos", unary_rows<functor::Cos>},
    {"cosh", unary_rows<functor::Cosh>},   {"sin", unary_rows<functor::Sin>},
    {"sinh", unary_rows<functor::Sinh>},   {"tan", unary_rows<functor::Tan>},
    {"tanh", unary_rows<functor::Tanh>},
};

}  // namespace

RowTable trigonometric_rows() { return trigonometric_table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(trigonometric_rows);
RowTable trigonometric_row_table() { return HWY_DYNAMIC_DISPATCH(trigonometric_rows)(); }
}  // namespace mge::cpu
#endif
