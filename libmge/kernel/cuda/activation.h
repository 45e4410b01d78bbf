// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge::cuda {

// mge::Activation for device code; device_activation.h compares the two.
enum class Activation {
    none,
    relu,
    relu6,
    hswish,
    silu,
    gelu,
    sigmoid,
    tanh,
    relu_keeps_nan,
    relu6_keeps_nan,
};

}  // namespace mge::cuda
