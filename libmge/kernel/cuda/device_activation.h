// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation.h"
#include "libmge/kernel/cuda/activation.h"

// An Activation of the host as the enum of device text, which may not include the host's headers.

namespace mge::cuda {

constexpr Activation device_activation(mge::Activation activation) { return Activation(int(activation)); }

static_assert(device_activation(mge::Activation::relu) == Activation::relu);
static_assert(device_activation(mge::Activation::relu6) == Activation::relu6);
static_assert(device_activation(mge::Activation::relu_keeps_nan) == Activation::relu_keeps_nan);
static_assert(device_activation(mge::Activation::relu6_keeps_nan) == Activation::relu6_keeps_nan);
static_assert(device_activation(mge::Activation::hswish) == Activation::hswish);
static_assert(device_activation(mge::Activation::silu) == Activation::silu);
static_assert(device_activation(mge::Activation::gelu) == Activation::gelu);
static_assert(device_activation(mge::Activation::sigmoid) == Activation::sigmoid);
static_assert(device_activation(mge::Activation::tanh) == Activation::tanh);

}  // namespace mge::cuda
