// SPDX-License-Identifier: Apache-2.0
#pragma once
// Without includes, because device code reads it.

namespace mge {

// The operator that matmul and conv2d apply to their result before they store it. NaN gives 0 for relu and 6
// for relu6, as those operators do; it stays NaN for all others.
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

}  // namespace mge
