// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/compile_options.h"

#include <algorithm>
#include <limits>

#include "libmge/base/text.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/lite/device.h"

namespace lite {
namespace {

using mge::compat::LayoutTransform;

struct LayoutOption {
    bool Options::*is_on;
    LayoutTransform layout;
};
constexpr LayoutOption layout_options[] = {
    {&Options::enable_nchw44, LayoutTransform::nchw44},
    {&Options::enable_nchw44_dot, LayoutTransform::nchw44_dot},
    {&Options::enable_nchw88, LayoutTransform::nchw88},
    {&Options::enable_nhwcd4, LayoutTransform::nhwcd4},
    {&Options::enable_nchw4, LayoutTransform::nchw4},
    {&Options::enable_nchw32, LayoutTransform::nchw32},
    {&Options::enable_nchw64, LayoutTransform::nchw64},
};

bool has(uint32_t strategy, LiteAlgoSelectStrategy bit) { return (strategy & uint32_t(bit)) != 0; }

// False or 0 leaves the choice to the engine: this struct has two states, the engine's switches have three.
mge::compat::GraphOptimization graph_optimization(const Config& config) {
    auto& options = config.options;
    mge::compat::GraphOptimization result;
    if (options.weight_preprocess || config.auto_optimize_inference) result.enable_weight_preprocess();
    if (options.fuse_preprocess) result.enable_fuse_preprocess();
    if (options.enable_f16_io_comp) result.enable_f16_io_comp();
    if (options.jit_level) result.jit = options.jit_level;
    for (auto& option : layout_options)
        if (options.*option.is_on) result.enable(option.layout);
    return result;
}

void choose_algorithms(const AlgorithmPolicy& policy, mge::SelectOptions& select) {
    if (policy.strategy) {
        select.heuristic = has(policy.strategy, LITE_ALGO_HEURISTIC);
        select.profile = has(policy.strategy, LITE_ALGO_PROFILE);
        select.reproducible = has(policy.strategy, LITE_ALGO_REPRODUCIBLE);
        select.optimized = has(policy.strategy, LITE_ALGO_OPTIMIZED);
    }
    select.shared_batch_size = policy.shared_batch_size;
    select.same_between_batches = policy.binary_equal_between_batch;
    select.workspace_limit = policy.workspace_limit;
    select.measure = policy.measure;
}

template <class Include>
bool are_equal_in(const mge::CompileOptions& a, const mge::CompileOptions& b, Include&& include) {
    return std::ranges::all_of(mge::compile_option_list(), [&](auto& option) {
        return !option.is_value() || !include(option) || option.get(a) == option.get(b);
    });
}

}  // namespace

void check(uint32_t strategy) {
    const uint32_t all =
        LITE_ALGO_HEURISTIC | LITE_ALGO_PROFILE | LITE_ALGO_REPRODUCIBLE | LITE_ALGO_OPTIMIZED;
    if (strategy & ~all) throw Error(mge::text("there is no algorithm strategy ", strategy));
    if (!has(strategy, LITE_ALGO_HEURISTIC) && !has(strategy, LITE_ALGO_PROFILE))
        throw Error(mge::text("algorithm strategy ", strategy,
                              " contains neither LITE_ALGO_HEURISTIC nor LITE_ALGO_PROFILE"));
}

void check(const Config& config) {
    require_backend(config.backend);
    name_of(config.device_type);
}

int threads_option(size_t threads) {
    return static_cast<int>(std::min<size_t>(threads, std::numeric_limits<int>::max()));
}

mge::CompileOptions compile_options(const Config& config, const AlgorithmPolicy& policy) {
    auto& options = config.options;
    mge::CompileOptions result;
    result.naming = mge::compat::path_of;
    graph_optimization(config).apply(result);
    result.level = options.graph_opt_level;
    result.fake_next_exec = options.fake_next_exec;
    result.var_sanity_check_first_run = options.var_sanity_check_first_run;
    result.const_shape = options.const_shape;
    result.force_dynamic_alloc = options.force_dynamic_alloc;
    result.force_output_dynamic_alloc = options.force_output_dynamic_alloc;
    result.force_output_use_user_specified_memory = options.force_output_use_user_specified_memory;
    result.no_profiling_on_shape_change = options.no_profiling_on_shape_change;
    result.comp_node_seq_record_level = options.comp_node_seq_record_level;
    result.async_exec_level = options.async_exec_level;
    if (options.precision > uint8_t(mge::Precision::fast))
        throw Error(
            mge::text("there is no precision ", int(options.precision), "; 0 is strict, 1 relaxed, 2 fast"));
    result.precision = mge::Precision(options.precision);
    result.weight_bits = options.weight_bits;
    choose_algorithms(policy, result.select);
    mge::check(result);
    return result;
}

bool are_equal(const mge::CompileOptions& a, const mge::CompileOptions& b) {
    // Functions cannot be compared.
    bool are_known = !a.select.measure && !b.select.measure && a.own_passes.empty() && b.own_passes.empty();
    return are_known && a.passes == b.passes && a.device == b.device && a.algorithms == b.algorithms &&
           a.known_algorithms.empty() && b.known_algorithms.empty() && a.select.cache == b.select.cache &&
           are_equal_in(a, b, [](auto&) { return true; });
}

bool leaves_choice_to_model(const mge::CompileOptions& options) {
    mge::CompileOptions plain;
    return !options.select.profile &&
           are_equal_in(options, plain, [](auto& option) { return option.is_stored; });
}

}  // namespace lite
