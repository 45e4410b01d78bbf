// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/autocast.h"
#include "libmge/ops/elementwise/elementwise.h"

namespace mge::ops {

struct Gelu : Unary<Gelu, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "gelu";
    static constexpr auto doc = "x times the cumulative normal distribution of x (exact, by erf).";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Gelu> gelu{};

struct GeluSlope : Unary<GeluSlope, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "gelu_slope";
    static constexpr auto doc = "Derivative of gelu.";
    static constexpr bool only_trains = true;
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<GeluSlope> gelu_slope{};

struct Hsigmoid : Unary<Hsigmoid, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "hsigmoid";
    static constexpr auto doc = "relu6(x + 3) / 6.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Hsigmoid> hsigmoid{};

struct Hswish : Unary<Hswish, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "hswish";
    static constexpr auto doc = "x times relu6(x + 3) / 6.";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Hswish> hswish{};

struct LeakyRelu {
    static constexpr auto name = "leaky_relu";
    static constexpr auto doc = "x if x >= 0, else slope times x.";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::floating, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        double slope = 0.01;
    };
    static constexpr auto fields = field_list(field<&Params::slope>("slope", "Factor of negative values."));
    static constexpr Accepts accepted = Accepts::floats;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<LeakyRelu> leaky_relu{};

struct Logsigmoid : Unary<Logsigmoid, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "logsigmoid";
    static constexpr auto doc = "log(sigmoid(x)) without overflow.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Logsigmoid> logsigmoid{};

struct Prelu : Binary<Prelu, Accepts::numbers> {
    static constexpr auto name = "prelu";
    static constexpr auto doc = "a if a >= 0, else a times b.";
    static Tensor derivative_a(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    static Tensor derivative_b(const Tensor& a, const Tensor& b, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Prelu> prelu{};

struct Relu : Unary<Relu, Accepts::numbers, Promotion::none, false, NanParams> {
    static constexpr auto name = "relu";
    static constexpr auto doc = "max(x, 0). NaN gives 0 unless keeps_nan is set.";
    static constexpr auto fields = nan_fields;
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Relu> relu{};

struct Relu6 : Unary<Relu6, Accepts::numbers, Promotion::none, false, NanParams> {
    static constexpr auto name = "relu6";
    static constexpr auto doc = "min(max(x, 0), 6). NaN gives 6 unless keeps_nan is set.";
    static constexpr auto fields = nan_fields;
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Relu6> relu6{};

struct Sigmoid : Unary<Sigmoid, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "sigmoid";
    static constexpr auto doc = "1 / (1 + e^-x).";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sigmoid> sigmoid{};

struct Silu : Unary<Silu, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "silu";
    static constexpr auto doc = "x times sigmoid(x).";
    static constexpr CastAlways cast_to{CastTo::as_given};
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Silu> silu{};

struct Softplus : Unary<Softplus, Accepts::floats, Promotion::floating> {
    static constexpr auto name = "softplus";
    static constexpr auto doc = "log(1 + e^x) without overflow.";
    static Tensor derivative(const Tensor& x, const Tensor& y, const Tensor& dy);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Softplus> softplus{};

}  // namespace mge::ops
