// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

namespace mge {

// What a fused region may hold beside elementwise operators; stronger than `jit`. Setting one fuses, whatever
// `jit` says.
struct JitConfig {
    std::optional<bool> fuse_dimshuffle;  // transpositions between and before elementwise operators
    std::optional<bool> fuse_reduce;      // a reduction at the end
};

// Switches of single optimisations, named as in MegEngine's graph_opt. Unset: the engine decides, by the
// optimisation level; true: done wherever it is legal, at every level; false: never done.
struct GraphOptimization {
    std::optional<bool> fuse_conv_bias_nonlinearity;  // convolutions take in bias and activation
    std::optional<bool> fuse_conv_bias_with_z;        // and the sum with another image, its activation too
    std::optional<bool> fuse_grain;                   // a mean of a mean is one mean
    std::optional<bool> fuse_preprocess;              // the conversion of the input is one step
    std::optional<bool> weight_preprocess;            // algorithms pack constant weights ahead
    // 0: no fused regions; 1: of elementwise operators and transpositions; 2: of elementwise operators and a
    // reduction.
    std::optional<int> jit;
    JitConfig jit_config;
    bool f16_io_f32_comp = false;  // values between steps stored as float16
    bool f16_io_comp = false;      // and computed in it where the device can: a CPU cannot
    bool tensorrt = false;
};

}  // namespace mge
