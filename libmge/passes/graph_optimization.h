// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Layouts of images by MegEngine's names and numbers.
enum class LayoutTransform : uint8_t {
    unset,
    nchw4,
    nhwcd4,
    nchw88,
    nchw44,
    nchw44_dot,
    nchw32,
    chwn4,
    nchw64
};
inline constexpr std::array<std::string_view, 9> layout_transform_names{
    "", "NCHW4", "NHWCD4", "NCHW88", "NCHW44", "NCHW44_DOT", "NCHW32", "CHWN4", "NCHW64"};

// Other operators in a fused region besides elementwise ones; overrides `jit`. Setting one enables fusion,
// regardless of `jit`.
struct JitConfig {
    std::optional<bool> fuse_dimshuffle;  // transpositions between and before elementwise operators
    std::optional<bool> fuse_reduce;      // a reduction at the end
};

// Switches of single optimisations, named as in MegEngine's graph_opt. Unset: the engine decides, by the
// optimisation level; true: done wherever it is legal, at every level; false: never done.
// compile/options/option_list.cpp lists their names in tools, files, reports and Python.
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
    // CompileOptions::layout in MegEngine's terms; only one of the two is set.
    LayoutTransform layout_transform = LayoutTransform::unset;

    // As in MegEngine, for chaining. `has_set` is true for enabled switches, not for the engine's choices.
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
    // There is only one layout: UserError if another is enabled, which must be disabled first. Disabling one
    // that is not enabled has no effect.
    MGE_API GraphOptimization& enable(LayoutTransform layout);
    MGE_API GraphOptimization& disable(LayoutTransform layout);
    GraphOptimization& enable_nchw4() { return enable(LayoutTransform::nchw4); }
    GraphOptimization& disable_nchw4() { return disable(LayoutTransform::nchw4); }
    bool has_set_nchw4() const { return layout_transform == LayoutTransform::nchw4; }
    GraphOptimization& enable_nhwcd4() { return enable(LayoutTransform::nhwcd4); }
    GraphOptimization& disable_nhwcd4() { return disable(LayoutTransform::nhwcd4); }
    bool has_set_nhwcd4() const { return layout_transform == LayoutTransform::nhwcd4; }
    GraphOptimization& enable_nchw88() { return enable(LayoutTransform::nchw88); }
    GraphOptimization& disable_nchw88() { return disable(LayoutTransform::nchw88); }
    bool has_set_nchw88() const { return layout_transform == LayoutTransform::nchw88; }
    GraphOptimization& enable_nchw44() { return enable(LayoutTransform::nchw44); }
    GraphOptimization& disable_nchw44() { return disable(LayoutTransform::nchw44); }
    bool has_set_nchw44() const { return layout_transform == LayoutTransform::nchw44; }
    GraphOptimization& enable_nchw44_dot() { return enable(LayoutTransform::nchw44_dot); }
    GraphOptimization& disable_nchw44_dot() { return disable(LayoutTransform::nchw44_dot); }
    bool has_set_nchw44_dot() const { return layout_transform == LayoutTransform::nchw44_dot; }
    GraphOptimization& enable_nchw32() { return enable(LayoutTransform::nchw32); }
    GraphOptimization& disable_nchw32() { return disable(LayoutTransform::nchw32); }
    bool has_set_nchw32() const { return layout_transform == LayoutTransform::nchw32; }
    GraphOptimization& enable_chwn4() { return enable(LayoutTransform::chwn4); }
    GraphOptimization& disable_chwn4() { return disable(LayoutTransform::chwn4); }
    bool has_set_chwn4() const { return layout_transform == LayoutTransform::chwn4; }
    GraphOptimization& enable_nchw64() { return enable(LayoutTransform::nchw64); }
    GraphOptimization& disable_nchw64() { return disable(LayoutTransform::nchw64); }
    bool has_set_nchw64() const { return layout_transform == LayoutTransform::nchw64; }

private:
    template <class Member, class Value>
    GraphOptimization& set(Member member, Value value) {
        this->*member = value;
        return *this;
    }
};

}  // namespace mge
