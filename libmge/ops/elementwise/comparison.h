// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Equal : Binary<Equal, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "equal";
    static constexpr auto doc = "a == b.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Equal> equal{};

struct Greater : Binary<Greater, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "greater";
    static constexpr auto doc = "a > b.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Greater> greater{};

struct GreaterEqual : Binary<GreaterEqual, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "greater_equal";
    static constexpr auto doc = "a >= b.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GreaterEqual> greater_equal{};

struct IsInf : Unary<IsInf, Accepts::all, Promotion::none, true> {
    static constexpr auto name = "isinf";
    static constexpr auto doc = "True for infinities.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<IsInf> isinf{};

struct IsNan : Unary<IsNan, Accepts::all, Promotion::none, true> {
    static constexpr auto name = "isnan";
    static constexpr auto doc = "True for NaN.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<IsNan> isnan{};

struct Less : Binary<Less, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "less";
    static constexpr auto doc = "a < b.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Less> less{};

struct LessEqual : Binary<LessEqual, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "less_equal";
    static constexpr auto doc = "a <= b.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LessEqual> less_equal{};

struct NotEqual : Binary<NotEqual, Accepts::all, Promotion::common, true> {
    static constexpr auto name = "not_equal";
    static constexpr auto doc = "a != b; true for NaN.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<NotEqual> not_equal{};

}  // namespace mge::ops
