// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

namespace mge {

// Switches of single optimisations, named as in MegEngine's graph_opt. Unset: the engine decides, by the
// optimisation level; true: done wherever it is legal, at every level; false: never done.
struct GraphOptimization {
    std::optional<bool> fuse_conv_bias_nonlinearity;  // convolutions take in bias and activation
    std::optional<bool> fuse_conv_bias_with_z;        // and the sum with another image, its activation too
    std::optional<bool> fuse_grain;                   // a mean of a mean is one mean
    std::optional<bool> fuse_preprocess;              // the conversion of the input is one step
    std::optional<bool> weight_preprocess;            // algorithms pack constant weights ahead
    std::optional<int> jit;                           // 0: no fused elementwise operators; 1: fused
    bool f16_io_f32_comp = false;                     // values between steps stored as float16
    bool f16_io_comp = false;                         // and computed in it where the device can
    bool tensorrt = false;
};

}  // namespace mge
