// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

#include "libmge/base/reflect.h"
#include "libmge/kernel/activation_enum.h"

namespace mge {

template <>
struct EnumNames<Activation> {
    static constexpr std::string_view names[] = {"none",           "relu",           "relu6",   "hswish",
                                                 "silu",           "gelu",           "sigmoid", "tanh",
                                                 "relu_keeps_nan", "relu6_keeps_nan"};
};

// Documentation of the activation parameter of such operators.
inline constexpr std::string_view activation_doc =
    "Applied to the result: none, relu, relu6, hswish, silu, gelu, sigmoid, tanh, relu_keeps_nan or "
    "relu6_keeps_nan.";

// The same activation for values that cannot be NaN.
constexpr Activation without_nan(Activation activation) {
    if (activation == Activation::relu_keeps_nan) return Activation::relu;
    if (activation == Activation::relu6_keeps_nan) return Activation::relu6;
    return activation;
}

inline float apply_activation(Activation activation, float x) {
    switch (activation) {
        case Activation::relu:
            return x > 0 ? x : 0;
        case Activation::relu6:
            return x < 6 ? std::max(x, 0.f) : 6;
        case Activation::relu_keeps_nan:
            return x < 0 ? 0 : x;
        case Activation::relu6_keeps_nan:
            return std::clamp(x, 0.f, 6.f);
        case Activation::hswish:
            return x * std::clamp(x + 3, 0.f, 6.f) / 6;
        case Activation::silu:
            return x / (1 + std::exp(-x));
        case Activation::gelu:
            return 0.5f * x * (1 + std::erf(x * 0.70710678f));
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-x));
        case Activation::tanh:
            return std::tanh(x);
        default:
            return x;
    }
}

}  // namespace mge
