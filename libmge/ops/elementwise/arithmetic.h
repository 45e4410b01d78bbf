// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Abs : Unary<Abs, Accepts::numbers> {
    static constexpr auto name = "abs";
    static constexpr auto doc = "Absolute value. Its gradient at 0 is -1.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Abs> abs{};

struct Add : Binary<Add, Accepts::numbers> {
    static constexpr auto name = "add";
    static constexpr auto doc = "Elementwise sum.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Add> add{};

struct Ceil : Unary<Ceil, Accepts::numbers> {
    static constexpr auto name = "ceil";
    static constexpr auto doc = "Smallest integer >= x, in the dtype of x.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Ceil> ceil{};

struct Div : Binary<Div, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "div";
    static constexpr auto doc = "Quotient; integers become float32 first.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Div> div{};

struct Floor : Unary<Floor, Accepts::numbers> {
    static constexpr auto name = "floor";
    static constexpr auto doc = "Largest integer <= x, in the dtype of x.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Floor> floor{};

struct FloorDiv : Binary<FloorDiv, Accepts::numbers> {
    static constexpr auto name = "floor_div";
    static constexpr auto doc = "Quotient rounded down (Python's //). Integer division by 0 gives 0.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<FloorDiv> floor_div{};

struct Maximum : Binary<Maximum, Accepts::numbers> {
    static constexpr auto name = "maximum";
    static constexpr auto doc =
        "The larger element; b if one is NaN. The gradient of equal elements goes "
        "to a.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Maximum> maximum{};

struct Minimum : Binary<Minimum, Accepts::numbers> {
    static constexpr auto name = "minimum";
    static constexpr auto doc =
        "The smaller element; b if one is NaN. The gradient of equal elements goes "
        "to a.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Minimum> minimum{};

struct Mod : Binary<Mod, Accepts::numbers> {
    static constexpr auto name = "mod";
    static constexpr auto doc =
        "Remainder of the division. For integers it has the sign of b (Python's %) and is 0 if b is 0; for "
        "floats it has the sign of a (C's fmod).";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Mod> mod{};

struct Mul : Binary<Mul, Accepts::numbers> {
    static constexpr auto name = "mul";
    static constexpr auto doc = "Elementwise product.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Mul> mul{};

struct Neg : Unary<Neg, Accepts::numbers> {
    static constexpr auto name = "neg";
    static constexpr auto doc = "Negative of x.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Neg> neg{};

struct Reciprocal : Unary<Reciprocal, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "reciprocal";
    static constexpr auto doc = "1 / x.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Reciprocal> reciprocal{};

struct Round : Unary<Round, Accepts::numbers> {
    static constexpr auto name = "round";
    static constexpr auto doc = "Nearest integer, with ties away from zero, in the dtype of x.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Round> round{};

struct RoundToEven : Unary<RoundToEven, Accepts::numbers> {
    static constexpr auto name = "round_to_even";
    static constexpr auto doc = "Nearest integer, with ties to even, in the dtype of x.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RoundToEven> round_to_even{};

struct Rsqrt : Unary<Rsqrt, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "rsqrt";
    static constexpr auto doc = "1 / sqrt(x).";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Rsqrt> rsqrt{};

struct Sign : Unary<Sign, Accepts::numbers> {
    static constexpr auto name = "sign";
    static constexpr auto doc = "-1, 0 or 1; 0 for NaN.";
    static constexpr bool stops_gradient = true;
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sign> sign{};

struct Sqrt : Unary<Sqrt, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "sqrt";
    static constexpr auto doc = "Square root.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sqrt> sqrt{};

struct Square : Unary<Square, Accepts::numbers> {
    static constexpr auto name = "square";
    static constexpr auto doc = "x times x.";
    static constexpr auto autocast = Autocast::wide;
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Square> square{};

struct Sub : Binary<Sub, Accepts::numbers> {
    static constexpr auto name = "sub";
    static constexpr auto doc = "Elementwise difference.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sub> sub{};

}  // namespace mge::ops
