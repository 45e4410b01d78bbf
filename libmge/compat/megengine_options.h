// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a compilation under MegEngine's names: in reports, model files, flags, Python's keywords and
// Graph.options, Lite, and the chains of setters of C++. The engine itself has other names, or none.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "libmge/compile/options/option_list.h"

namespace mge::compat {

struct NamedOption : OptionInfo {
    std::string_view path{};     // in MegEngine's ComputingGraph::Options: "graph_opt.jit_config.fuse_reduce"
    std::string_view name{};     // in reports and files: "jit_fuse_reduce"
    std::string_view flag{};     // load_and_run's flag; empty if it has none
    std::string_view keyword{};  // Python's keyword; empty if it has none
    bool has_own_flag = false;   // load_and_run defines the flag itself
};

// All options that are values, in the order of reports.
MGE_API std::span<const NamedOption> named_options();
// By name; nullptr if there is none.
MGE_API const NamedOption* find_named_option(std::string_view name);

// For CompileOptions::naming. An option without a flag or keyword is named by its path.
MGE_API std::string_view path_of(std::string_view field);
MGE_API std::string_view flag_of(std::string_view field);
MGE_API std::string_view keyword_of(std::string_view field);

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

struct JitConfig {
    std::optional<bool> fuse_dimshuffle, fuse_reduce;
};

// MegEngine's ComputingGraph::Options::graph_opt.
struct GraphOptimization {
    std::optional<bool> fuse_conv_bias_nonlinearity, fuse_conv_bias_with_z, fuse_grain;
    std::optional<bool> fuse_preprocess, weight_preprocess;
    std::optional<int> jit;
    JitConfig jit_config;
    bool f16_io_f32_comp = false, f16_io_comp = false;
    bool tensorrt = false;
    LayoutTransform layout_transform = LayoutTransform::unset;

    // Sets the switches of the options, and the layout if there is one. UserError if the options have another
    // layout; Error with code `device` for tensorrt, for which there is no backend.
    MGE_API void apply(CompileOptions& options) const;

    // For chains. `has_set` is true for a switch that is on, and false for one that the engine decides.
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
    // There is one layout: enabling a second is a UserError. Disabling one that is not enabled does nothing.
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

}  // namespace mge::compat
