// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/autocast.h"
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Acos : Unary<Acos, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "acos";
    static constexpr auto doc = "Arc cosine; NaN outside [-1, 1].";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Acos> acos{};

struct Acosh : Unary<Acosh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "acosh";
    static constexpr auto doc = "Inverse hyperbolic cosine; NaN below 1.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Acosh> acosh{};

struct Asin : Unary<Asin, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "asin";
    static constexpr auto doc = "Arc sine; NaN outside [-1, 1].";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Asin> asin{};

struct Asinh : Unary<Asinh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "asinh";
    static constexpr auto doc = "Inverse hyperbolic sine.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Asinh> asinh{};

struct Atan : Unary<Atan, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "atan";
    static constexpr auto doc = "Arc tangent.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Atan> atan{};

struct Atan2 : Binary<Atan2, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "atan2";
    static constexpr auto doc = "Angle of the point (b, a), from -pi to pi.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Atan2> atan2{};

struct Atanh : Unary<Atanh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "atanh";
    static constexpr auto doc = "Inverse hyperbolic tangent; NaN outside [-1, 1].";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Atanh> atanh{};

struct Cos : Unary<Cos, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "cos";
    static constexpr auto doc = "Cosine; NaN for infinities.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Cos> cos{};

struct Cosh : Unary<Cosh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "cosh";
    static constexpr auto doc = "Hyperbolic cosine.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Cosh> cosh{};

struct Sin : Unary<Sin, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "sin";
    static constexpr auto doc = "Sine; NaN for infinities.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sin> sin{};

struct Sinh : Unary<Sinh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "sinh";
    static constexpr auto doc = "Hyperbolic sine.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sinh> sinh{};

struct Tan : Unary<Tan, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "tan";
    static constexpr auto doc = "Tangent; NaN for infinities.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Tan> tan{};

struct Tanh : Unary<Tanh, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "tanh";
    static constexpr auto doc = "Hyperbolic tangent.";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Tanh> tanh{};

}  // namespace mge::ops
