// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/compile_options.h"

#include <nlohmann/json.hpp>

namespace mge::load_and_run {
namespace {

void set_algorithms(const AlgorithmOptions& o, FastrunCache* cache, CompileOptions& result) {
    auto& select = result.select;
    select.cache = cache;
    select.profile = cache != nullptr;
    select.heuristic = !o.measures();
    select.optimized = o.fast_run;
    select.same_between_batches = o.binary_equal_between_batch;
    select.reproducible = o.binary_equal_between_batch;
    select.shared_batch_size = o.shared_batch_size;
    if (o.workspace_limit < SIZE_MAX) select.workspace_limit = o.workspace_limit;
}

void set_checks(const CheckOptions& o, SelectOptions& select) {
    select.reproducible = select.reproducible || o.reproducible;
    if (!o.require_cache) return;
    select.profile = select.heuristic = true;  // what is cached, and nothing is measured
    select.optimized = false;
}

// Dumps and guards look at the weights that the steps read, as they were before they were packed.
bool reads_weights(const CheckOptions& o) {
    return !o.io_dump.empty() || o.io_dump_stdout || o.io_dump_stderr || !o.bin_io_dump.empty() ||
           o.check_finite || o.range > 0;
}

void set_graph_optimization(const GraphOptions& o, GraphOptimization& result) {
    result.fuse_preprocess = o.fuse_preprocess;
    result.fuse_grain = o.fuse_grain;
    result.weight_preprocess = o.weight_preprocess;
    result.fuse_conv_bias_nonlinearity = o.fuse_conv_bias_nonlinearity;
    result.fuse_conv_bias_with_z = o.fuse_conv_bias_with_z;
    if (o.jit) result.jit = *o.jit ? 1 : 0;
    if (o.jit_level) result.jit = o.jit_level;
    result.jit_config = {o.jit_fuse_dimshuffle, o.jit_fuse_reduce};
    result.f16_io_comp = o.enable_ioc16;
    result.f16_io_f32_comp = o.enable_io16xc32;
}

cli::Json switch_json(const std::optional<bool>& value) {
    return value ? cli::Json(*value) : cli::Json("unset");
}

}  // namespace

CompileOptions make_compile_options(const Options& options, FastrunCache* cache) {
    CompileOptions result;
    auto& o = options.graph;
    set_algorithms(options.algorithms, cache, result);
    set_checks(options.checks, result.select);
    set_graph_optimization(o, result.graph_opt);
    result.level = o.optimization_level;
    if (!o.layout.formats.empty()) result.layout = o.layout.formats[0];
    result.measure_layouts = !o.layout.transform.empty();
    result.seq_opt.enable_mem_plan_opt = result.seq_opt.enable_mem_reuse_alloc = !o.disable_mem_opt;
    result.const_shape = o.const_shape;
    result.fake_next_exec = o.fake_first;
    // Made in a run of its own, so that the first run's time is not the check's.
    result.var_sanity_check_first_run = false;
    result.keeps_weights = reads_weights(options.checks);
    result.comp_node_seq_record_level = o.record_level();
    return result;
}

cli::Json to_json(const CompileOptions& o) {
    auto& g = o.graph_opt;
    return {{"graph_opt_level", o.level},
            {"fuse_conv_bias_nonlinearity", switch_json(g.fuse_conv_bias_nonlinearity)},
            {"fuse_conv_bias_with_z", switch_json(g.fuse_conv_bias_with_z)},
            {"fuse_grain", switch_json(g.fuse_grain)},
            {"fuse_preprocess", switch_json(g.fuse_preprocess)},
            {"weight_preprocess", switch_json(g.weight_preprocess)},
            {"jit", g.jit ? cli::Json(*g.jit) : cli::Json("unset")},
            {"jit_fuse_dimshuffle", switch_json(g.jit_config.fuse_dimshuffle)},
            {"jit_fuse_reduce", switch_json(g.jit_config.fuse_reduce)},
            {"f16_io_comp", g.f16_io_comp},
            {"f16_io_f32_comp", g.f16_io_f32_comp},
            {"layout", o.layout},
            {"layout_transform", o.measure_layouts},
            {"enable_mem_plan_opt", o.seq_opt.enable_mem_plan_opt},
            {"enable_mem_reuse_alloc", o.seq_opt.enable_mem_reuse_alloc},
            {"const_shape", o.const_shape},
            {"fake_next_exec", o.fake_next_exec},
            {"comp_node_seq_record_level", o.comp_node_seq_record_level},
            {"measures_algorithms", o.select.profile && !o.select.heuristic},
            {"all_algorithms", o.select.profile && !o.select.optimized && !o.select.heuristic},
            {"reads_cache", o.select.profile},
            {"reproducible", o.select.reproducible},
            {"binary_equal_between_batch", o.select.same_between_batches},
            {"shared_batch_size", o.select.shared_batch_size},
            {"workspace_limit",
             o.select.workspace_limit == SIZE_MAX ? cli::Json("unset") : cli::Json(o.select.workspace_limit)},
            {"threads", o.threads}};
}

}  // namespace mge::load_and_run
