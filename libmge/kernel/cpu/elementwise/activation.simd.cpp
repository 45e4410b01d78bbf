// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/elementwise/activation.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/scalar.h"
#include "libmge/kernel/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {

constexpr RowTable activation_table{
    RowsOf<cpu::functor::Gelu>{unary_rows<functor::Gelu>},
    RowsOf<cpu::functor::GeluSlope>{unary_rows<functor::GeluSlope>},
    RowsOf<cpu::functor::Hsigmoid>{unary_rows<functor::Hsigmoid>},
    RowsOf<cpu::functor::Hswish>{unary_rows<functor::Hswish>},
    RowsOf<cpu::functor::LeakyRelu>{unary_rows<functor::LeakyRelu>},
    RowsOf<cpu::functor::Logsigmoid>{unary_rows<functor::Logsigmoid>},
    RowsOf<cpu::functor::Prelu>{binary_rows<functor::Prelu>},
    RowsOf<cpu::functor::Relu>{unary_rows<functor::Relu>},
    RowsOf<cpu::functor::Relu6>{unary_rows<functor::Relu6>},
    RowsOf<cpu::functor::Sigmoid>{unary_rows<functor::Sigmoid>},
    RowsOf<cpu::functor::Silu>{unary_rows<functor::Silu>},
    RowsOf<cpu::functor::Softplus>{unary_rows<functor::Softplus>},
};

}  // namespace

const RowsFn* activation_rows() { return activation_table.rows; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
HWY_EXPORT(activation_rows);
namespace {

template <class F>
RowsFn find() {
    limit_highway_targets();
    return HWY_DYNAMIC_DISPATCH(activation_rows)()[HWY_NAMESPACE::activation_table.position_of<F>()];
}

}  // namespace

// clang-format off
template <> RowsFn simd_rows<functor::Gelu>() { return find<functor::Gelu>(); }
template <> RowsFn simd_rows<functor::GeluSlope>() { return find<functor::GeluSlope>(); }
template <> RowsFn simd_rows<functor::Hsigmoid>() { return find<functor::Hsigmoid>(); }
template <> RowsFn simd_rows<functor::Hswish>() { return find<functor::Hswish>(); }
template <> RowsFn simd_rows<functor::LeakyRelu>() { return find<functor::LeakyRelu>(); }
template <> RowsFn simd_rows<functor::Logsigmoid>() { return find<functor::Logsigmoid>(); }
template <> RowsFn simd_rows<functor::Prelu>() { return find<functor::Prelu>(); }
template <> RowsFn simd_rows<functor::Relu>() { return find<functor::Relu>(); }
template <> RowsFn simd_rows<functor::Relu6>() { return find<functor::Relu6>(); }
template <> RowsFn simd_rows<functor::Sigmoid>() { return find<functor::Sigmoid>(); }
template <> RowsFn simd_rows<functor::Silu>() { return find<functor::Silu>(); }
template <> RowsFn simd_rows<functor::Softplus>() { return find<functor::Softplus>(); }
// clang-format on

}  // namespace mge::cpu
#endif
