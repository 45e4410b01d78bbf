// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/activation.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/tables.h"
#include "libmge/kernel/cpu/rows.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr NamedRows activation_table[] = {
    {"gelu", unary_rows<functor::Gelu>},
    {"gelu_slope", unary_rows<functor::GeluSlope>},
    {"hsigmoid", unary_rows<functor::Hsigmoid>},
    {"hswish", unary_rows<functor::Hswish>},
    {"leaky_relu", unary_rows<functor::LeakyRelu>},
    {"logsigmoid", unary_rows<functor::Logsigmoid>},
    {"prelu", binary_rows<functor::Prelu>},
    {"relu", unary_rows<functor::Relu>},
    {"relu6", unary_rows<functor::Relu6>},
    {"sigmoid", unary_rows<functor::Sigmoid>},
    {"silu", unary_rows<functor::Silu>},
    {"softplus", unary_rows<functor::Softplus>},
};

}  // namespace

RowTable activation_rows() { return activation_table; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(activation_rows);
RowTable activation_row_table() { return HWY_DYNAMIC_DISPATCH(activation_rows)(); }
}  // namespace mge::cpu
#endif
