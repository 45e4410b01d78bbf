// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct BitwiseAnd : Binary<BitwiseAnd, Accepts::integers> {
    static constexpr auto name = "bitwise_and";
    static constexpr auto doc = "Bitwise and of integers.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BitwiseAnd> bitwise_and{};

struct BitwiseNot : Unary<BitwiseNot, Accepts::integers> {
    static constexpr auto name = "bitwise_not";
    static constexpr auto doc = "Bitwise complement of integers.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BitwiseNot> bitwise_not{};

struct BitwiseOr : Binary<BitwiseOr, Accepts::integers> {
    static constexpr auto name = "bitwise_or";
    static constexpr auto doc = "Bitwise or of integers.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BitwiseOr> bitwise_or{};

struct BitwiseXor : Binary<BitwiseXor, Accepts::integers> {
    static constexpr auto name = "bitwise_xor";
    static constexpr auto doc = "Bitwise exclusive or of integers.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BitwiseXor> bitwise_xor{};

struct LeftShift : Binary<LeftShift, Accepts::integers> {
    static constexpr auto name = "left_shift";
    static constexpr auto doc = "a * 2^b, wrapping; shifting by the width or more gives 0.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LeftShift> left_shift{};

struct LogicalAnd : Binary<LogicalAnd, Accepts::bools> {
    static constexpr auto name = "logical_and";
    static constexpr auto doc = "True if both elements are true.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LogicalAnd> logical_and{};

struct LogicalNot : Unary<LogicalNot, Accepts::bools> {
    static constexpr auto name = "logical_not";
    static constexpr auto doc = "True if the element is false.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LogicalNot> logical_not{};

struct LogicalOr : Binary<LogicalOr, Accepts::bools> {
    static constexpr auto name = "logical_or";
    static constexpr auto doc = "True if at least one element is true.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LogicalOr> logical_or{};

struct LogicalXor : Binary<LogicalXor, Accepts::bools> {
    static constexpr auto name = "logical_xor";
    static constexpr auto doc = "True if exactly one element is true.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LogicalXor> logical_xor{};

struct RightShift : Binary<RightShift, Accepts::integers> {
    static constexpr auto name = "right_shift";
    static constexpr auto doc = "a / 2^b rounded down.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RightShift> right_shift{};

}  // namespace mge::ops
