// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/c/structs.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "libmge/base/text.h"

namespace lite::c {
namespace {

// Programs in other languages describe the structs by themselves.
static_assert(sizeof(LiteLayout) == 72 && offsetof(LiteLayout, ndim) == 56 &&
              offsetof(LiteLayout, data_type) == 64);
static_assert(sizeof(LiteTensorDesc) == 88 && offsetof(LiteTensorDesc, layout) == 8 &&
              offsetof(LiteTensorDesc, device_type) == 80 && offsetof(LiteTensorDesc, device_id) == 84);
static_assert(sizeof(LiteOptions) == 96 && offsetof(LiteOptions, jit_level) == 36 &&
              offsetof(LiteOptions, enable_nchw44) == 52 && offsetof(LiteOptions, enable_nchw64) == 76 &&
              offsetof(LiteOptions, copy_model_files) == 92);
static_assert(sizeof(LiteConfig) == 136 && offsetof(LiteConfig, device_id) == 4 &&
              offsetof(LiteConfig, device_type) == 8 && offsetof(LiteConfig, backend) == 12 &&
              offsetof(LiteConfig, bare_model_cryption_name) == 16 && offsetof(LiteConfig, options) == 24 &&
              offsetof(LiteConfig, auto_optimize_inference) == 120 &&
              offsetof(LiteConfig, discrete_input_name) == 128);
static_assert(sizeof(LiteExtraConfig) == 4);
static_assert(sizeof(LiteIO) == 88 && offsetof(LiteIO, is_host) == 8 && offsetof(LiteIO, io_type) == 12 &&
              offsetof(LiteIO, config_layout) == 16);
static_assert(sizeof(LiteNetworkIO) == 32 && offsetof(LiteNetworkIO, outputs) == 8 &&
              offsetof(LiteNetworkIO, input_size) == 16 && offsetof(LiteNetworkIO, output_size) == 24);

// One field of LiteOptions and of Options: a single list for both directions.
template <class T>
struct OptionField {
    const char* name;
    int LiteOptions::*in_c;
    T Options::*in_cpp;
};

constexpr OptionField<bool> switches[] = {
    {"weight_preprocess", &LiteOptions::weight_preprocess, &Options::weight_preprocess},
    {"fuse_preprocess", &LiteOptions::fuse_preprocess, &Options::fuse_preprocess},
    {"fake_next_exec", &LiteOptions::fake_next_exec, &Options::fake_next_exec},
    {"var_sanity_check_first_run", &LiteOptions::var_sanity_check_first_run,
     &Options::var_sanity_check_first_run},
    {"const_shape", &LiteOptions::const_shape, &Options::const_shape},
    {"force_dynamic_alloc", &LiteOptions::force_dynamic_alloc, &Options::force_dynamic_alloc},
    {"force_output_dynamic_alloc", &LiteOptions::force_output_dynamic_alloc,
     &Options::force_output_dynamic_alloc},
    {"force_output_use_user_specified_memory", &LiteOptions::force_output_use_user_specified_memory,
     &Options::force_output_use_user_specified_memory},
    {"no_profiling_on_shape_change", &LiteOptions::no_profiling_on_shape_change,
     &Options::no_profiling_on_shape_change},
    {"enable_nchw44", &LiteOptions::enable_nchw44, &Options::enable_nchw44},
    {"enable_nchw44_dot", &LiteOptions::enable_nchw44_dot, &Options::enable_nchw44_dot},
    {"enable_nchw88", &LiteOptions::enable_nchw88, &Options::enable_nchw88},
    {"enable_nhwcd4", &LiteOptions::enable_nhwcd4, &Options::enable_nhwcd4},
    {"enable_nchw4", &LiteOptions::enable_nchw4, &Options::enable_nchw4},
    {"enable_nchw32", &LiteOptions::enable_nchw32, &Options::enable_nchw32},
    {"enable_nchw64", &LiteOptions::enable_nchw64, &Options::enable_nchw64},
    {"enable_f16_io_comp", &LiteOptions::enable_f16_io_comp, &Options::enable_f16_io_comp},
    {"copy_model_files", &LiteOptions::copy_model_files, &Options::copy_model_files},
};
constexpr OptionField<uint8_t> levels[] = {
    {"jit_level", &LiteOptions::jit_level, &Options::jit_level},
    {"comp_node_seq_record_level", &LiteOptions::comp_node_seq_record_level,
     &Options::comp_node_seq_record_level},
    {"graph_opt_level", &LiteOptions::graph_opt_level, &Options::graph_opt_level},
    {"precision", &LiteOptions::precision, &Options::precision},
    {"weight_bits", &LiteOptions::weight_bits, &Options::weight_bits},
};
constexpr OptionField<uint16_t> wide_levels[] = {
    {"async_exec_level", &LiteOptions::async_exec_level, &Options::async_exec_level},
};
static_assert(sizeof(LiteOptions) ==
              sizeof(int) * (std::size(switches) + std::size(levels) + std::size(wide_levels)));

template <class T>
T level_of(const OptionField<T>& field, int value) {
    constexpr int max = std::numeric_limits<T>::max();
    if (value < 0 || value > max)
        throw Error(mge::text("the option ", field.name, " is ", value, "; it is 0 to ", max));
    return static_cast<T>(value);
}

Options options_of(const LiteOptions& options) {
    Options result;
    for (auto& field : switches) result.*field.in_cpp = options.*field.in_c != 0;
    for (auto& field : levels) result.*field.in_cpp = level_of(field, options.*field.in_c);
    for (auto& field : wide_levels) result.*field.in_cpp = level_of(field, options.*field.in_c);
    return result;
}

LiteOptions options_of(const Options& options) {
    LiteOptions result{};
    for (auto& field : switches) result.*field.in_c = options.*field.in_cpp;
    for (auto& field : levels) result.*field.in_c = options.*field.in_cpp;
    for (auto& field : wide_levels) result.*field.in_c = options.*field.in_cpp;
    return result;
}

std::string text_or_empty(const char* text) { return text ? text : ""; }
const char* null_if_empty(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

std::vector<IO> list_of(const LiteIO* ios, size_t size, const char* what) {
    if (size && !ios)
        throw Error(mge::text("the network_io has ", size, ' ', what, ", and null for their array"));
    std::vector<IO> result;
    for (auto& io : std::span(ios, size)) {
        if (!io.name)
            throw Error(mge::text("number ", result.size(), " of the network_io's ", what, " has no name"));
        result.push_back(IO{io.name, io.is_host != 0, io.io_type, layout_of(io.config_layout)});
    }
    return result;
}

std::vector<LiteIO> array_of(const std::vector<IO>& ios) {
    std::vector<LiteIO> result;
    for (auto& io : ios) result.push_back(io_of(io));
    return result;
}

}  // namespace

Layout layout_of(const LiteLayout& layout) {
    Layout result{{}, layout.ndim, layout.data_type};
    std::ranges::copy(layout.shapes, result.shapes);
    return result;
}

LiteLayout layout_of(const Layout& layout) {
    LiteLayout result{{}, layout.ndim, layout.data_type};
    std::copy_n(layout.shapes, std::min(layout.ndim, Layout::MAXDIM), result.shapes);
    return result;
}

Config config_of(const LiteConfig& config) {
    return {.has_compression = config.has_compression != 0,
            .device_id = config.device_id,
            .device_type = config.device_type,
            .backend = config.backend,
            .bare_model_cryption_name = text_or_empty(config.bare_model_cryption_name),
            .options = options_of(config.options),
            .auto_optimize_inference = config.auto_optimize_inference != 0,
            .discrete_input_name = text_or_empty(config.discrete_input_name)};
}

LiteConfig config_of(const Config& config) {
    return {.has_compression = config.has_compression,
            .device_id = config.device_id,
            .device_type = config.device_type,
            .backend = config.backend,
            .bare_model_cryption_name = null_if_empty(config.bare_model_cryption_name),
            .options = options_of(config.options),
            .auto_optimize_inference = config.auto_optimize_inference,
            .discrete_input_name = null_if_empty(config.discrete_input_name)};
}

NetworkIO io_of(const LiteNetworkIO& io) {
    return {list_of(io.inputs, io.input_size, "inputs"), list_of(io.outputs, io.output_size, "outputs")};
}

LiteIO io_of(const IO& io) { return {io.name.c_str(), io.is_host, io.io_type, layout_of(io.config_layout)}; }

IOArrays::IOArrays(NetworkIO io)
    : io_(std::move(io)), inputs_(array_of(io_.inputs)), outputs_(array_of(io_.outputs)) {}

LiteNetworkIO IOArrays::arrays() {
    return {inputs_.data(), outputs_.data(), inputs_.size(), outputs_.size()};
}

}  // namespace lite::c

constexpr LiteLayout no_layout = {{}, 0, LITE_FLOAT};
constexpr LiteOptions usual_options = {
    .var_sanity_check_first_run = 1, .graph_opt_level = 2, .async_exec_level = 1};

constinit const LiteLayout default_layout = no_layout;
constinit const LiteTensorDesc default_desc = {0, no_layout, LITE_CPU, 0};
constinit const LiteIO default_io = {nullptr, 1, LITE_IO_VALUE, no_layout};
constinit const LiteOptions default_option = usual_options;

LiteConfig* default_config() {
    static LiteConfig config = {.device_id = -1, .device_type = LITE_CPU, .options = usual_options};
    return &config;
}

LiteNetworkIO* default_network_io() {
    static LiteNetworkIO io = {};
    return &io;
}
