// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {

// Applied to the value before it is stored.
MGE_DEVICE float activated(Activation activation, float value) {
    auto x = ScalarFloat::of(value);
    switch (activation) {
        case Activation::relu:
            return functor::Relu{false}(x).v;
        case Activation::relu6:
            return functor::Relu6{false}(x).v;
        case Activation::relu_keeps_nan:
            return functor::Relu{true}(x).v;
        case Activation::relu6_keeps_nan:
            return functor::Relu6{true}(x).v;
        case Activation::hswish:
            return functor::Hswish()(x).v;
        case Activation::silu:
            return functor::Silu()(x).v;
        case Activation::gelu:
            return functor::Gelu()(x).v;
        case Activation::sigmoid:
            return functor::Sigmoid()(x).v;
        case Activation::tanh:
            return functor::Tanh()(x).v;
        default:
            return value;
    }
}

}  // namespace mge::cuda
