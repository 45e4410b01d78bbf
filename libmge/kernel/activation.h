// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <string_view>

#include "libmge/base/reflect.h"

namespace mge {

// The operator that matmul and conv2d apply to their result before they store it. NaN stays NaN, except with
// the relu and relu6 of some libraries.
enum class Activation { none, relu, relu6, hswish, silu, gelu, sigmoid, tanh };

template <>
struct EnumNames<Activation> {
    static constexpr std::string_view names[] = {"none", "relu", "relu6",   "hswish",
                                                 "silu", "gelu", "sigmoid", "tanh"};
};

// What the parameter of such an operator is.
inline constexpr std::string_view activation_doc =
    "Applied to the result: none, relu, relu6, hswish, silu, gelu, sigmoid or tanh.";

inline float apply_activation(Activation activation, float x) {
    switch (activation) {
        case Activation::relu:
            return x < 0 ? 0 : x;
        case Activation::relu6:
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

// The same before the result becomes steps, which have no NaN.
inline float apply_activation_of_steps(Activation activation, float x) {
    if (std::isnan(x) && activation == Activation::relu) return 0;
    if (std::isnan(x) && activation == Activation::relu6) return 6;
    return apply_activation(activation, x);
}

}  // namespace mge
