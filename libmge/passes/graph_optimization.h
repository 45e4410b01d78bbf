// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string_view>

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

    // As MegEngine's, for chains. `has_set` is true for what is on, not for what the engine decides.
    GraphOptimization& enable_fuse_conv_bias_nonlinearity() {
        return set(&GraphOptimization::fuse_conv_bias_nonlinearity, true);
    }
    GraphOptimization& disable_fuse_conv_bias_nonlinearity() {
        return set(&GraphOptimization::fuse_conv_bias_nonlinearity, false);
    }
    bool has_set_fuse_conv_bias_nonlinearity() const { return fuse_conv_bias_nonlinearity == true; }
    GraphOptimization& enable_fuse_conv_bias_with_z() {
        return set(&GraphOptimization::fuse_conv_bias_with_z, true);
    }
    GraphOptimization& disable_fuse_conv_bias_with_z() {
        return set(&GraphOptimization::fuse_conv_bias_with_z, false);
    }
    bool has_set_fuse_conv_bias_with_z() const { return fuse_conv_bias_with_z == true; }
    GraphOptimization& enable_fuse_grain() { return set(&GraphOptimization::fuse_grain, true); }
    GraphOptimization& disable_fuse_grain() { return set(&GraphOptimization::fuse_grain, false); }
    bool has_set_fuse_grain() const { return fuse_grain == true; }
    GraphOptimization& enable_fuse_preprocess() { return set(&GraphOptimization::fuse_preprocess, true); }
    GraphOptimization& disable_fuse_preprocess() { return set(&GraphOptimization::fuse_preprocess, false); }
    bool has_set_fuse_preprocess() const { return fuse_preprocess == true; }
    GraphOptimization& enable_weight_preprocess() { return set(&GraphOptimization::weight_preprocess, true); }
    GraphOptimization& disable_weight_preprocess() {
        return set(&GraphOptimization::weight_preprocess, false);
    }
    bool has_set_weight_preprocess() const { return weight_preprocess == true; }
    GraphOptimization& enable_f16_io_f32_comp() { return set(&GraphOptimization::f16_io_f32_comp, true); }
    GraphOptimization& disable_f16_io_f32_comp() { return set(&GraphOptimization::f16_io_f32_comp, false); }
    bool has_set_f16_io_f32_comp() const { return f16_io_f32_comp; }
    GraphOptimization& enable_f16_io_comp() { return set(&GraphOptimization::f16_io_comp, true); }
    GraphOptimization& disable_f16_io_comp() { return set(&GraphOptimization::f16_io_comp, false); }
    bool has_set_f16_io_comp() const { return f16_io_comp; }

private:
    template <class Member>
    GraphOptimization& set(Member member, bool value) {
        this->*member = value;
        return *this;
    }
};

// The switches that are on, off or the engine's matter. Flags, stored options and reports follow from these
// lists.
struct GraphSwitch {
    std::string_view name, flag, doc;  // in files and reports, of the tools, what it does
    std::optional<bool> GraphOptimization::*member;
};
inline constexpr std::array graph_switches{
    GraphSwitch{"fuse_conv_bias_nonlinearity", "--enable-fuse-conv-bias-nonlinearity",
                "Let convolutions take in bias and activation",
                &GraphOptimization::fuse_conv_bias_nonlinearity},
    GraphSwitch{"fuse_conv_bias_with_z", "--enable-fuse-conv-bias-with-z",
                "Let convolutions take in the sum with another image",
                &GraphOptimization::fuse_conv_bias_with_z},
    GraphSwitch{"fuse_grain", "--fuse-grain", "Make chains of means one step",
                &GraphOptimization::fuse_grain},
    GraphSwitch{"fuse_preprocess", "--enable-fuse-preprocess", "Make the conversion of the input one step",
                &GraphOptimization::fuse_preprocess},
    GraphSwitch{"weight_preprocess", "--weight-preprocess", "Pack weights ahead for the algorithms",
                &GraphOptimization::weight_preprocess},
};
struct JitSwitch {
    std::string_view name, flag, doc;
    std::optional<bool> JitConfig::*member;
};
inline constexpr std::array jit_switches{
    JitSwitch{"jit_fuse_dimshuffle", "--jit-fuse-dimshuffle",
              "Let fused steps transpose, whatever --jit-level says", &JitConfig::fuse_dimshuffle},
    JitSwitch{"jit_fuse_reduce", "--jit-fuse-reduce",
              "Let fused steps end with a reduction, whatever --jit-level says", &JitConfig::fuse_reduce},
};
// Precision is never changed unasked: on or off.
struct HalfPrecision {
    std::string_view name, flag, doc;
    bool GraphOptimization::*member;
};
inline constexpr std::array half_precisions{
    HalfPrecision{"f16_io_comp", "--enable-ioc16",
                  "Store weights and values between steps as float16, compute in it where the device can",
                  &GraphOptimization::f16_io_comp},
    HalfPrecision{"f16_io_f32_comp", "--enable-io16xc32",
                  "Store weights and values between steps as float16, compute in float32",
                  &GraphOptimization::f16_io_f32_comp},
};

}  // namespace mge
