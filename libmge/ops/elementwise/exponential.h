// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Erf : Unary<Erf, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "erf";
    static constexpr auto doc = "Error function.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Erf> erf{};

struct Exp : Unary<Exp, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "exp";
    static constexpr auto doc = "e to the power x.";
    static constexpr auto autocast = Autocast::wide;
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Exp> exp{};

struct Expm1 : Unary<Expm1, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "expm1";
    static constexpr auto doc = "e to the power x, minus 1, exact near 0.";
    static constexpr auto autocast = Autocast::wide;
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Expm1> expm1{};

struct Log : Unary<Log, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "log";
    static constexpr auto doc = "Natural logarithm.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Log> log{};

struct Log1p : Unary<Log1p, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "log1p";
    static constexpr auto doc = "Logarithm of 1 + x, exact near 0.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Log1p> log1p{};

struct Logaddexp : Binary<Logaddexp, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "logaddexp";
    static constexpr auto doc = "log(e^a + e^b) without overflow.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Logaddexp> logaddexp{};

struct Pow : Binary<Pow, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "pow";
    static constexpr auto doc = "a to the power b; integers become float32 first.";
    static constexpr auto autocast = Autocast::wide;
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Pow> pow{};

}  // namespace mge::ops
