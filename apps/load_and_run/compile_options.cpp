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

cli::Json switch_json(const std::optional<bool>& value) {
    return value ? cli::Json(*value) : cli::Json("unset");
}

void add_graph_optimization(const GraphOptimization& o, cli::Json& result) {
    for (auto& s : graph_switches) result[s.name] = switch_json(o.*s.member);
    result["jit"] = o.jit ? cli::Json(*o.jit) : cli::Json("unset");
    for (auto& s : jit_switches) result[s.name] = switch_json(o.jit_config.*s.member);
    for (auto& p : half_precisions) result[p.name] = o.*p.member;
}

}  // namespace

CompileOptions make_compile_options(const Options& options, FastrunCache* cache) {
    CompileOptions result;
    auto& o = options.graph;
    set_algorithms(options.algorithms, cache, result);
    set_checks(options.checks, result.select);
    result.graph_opt = o.optimization;
    if (o.jit && !result.graph_opt.jit) result.graph_opt.jit = *o.jit ? 1 : 0;
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
    cli::Json result{{"graph_opt_level", o.level}};
    add_graph_optimization(o.graph_opt, result);
    cli::Json rest{
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
    result.update(rest);
    return result;
}

}  // namespace mge::load_and_run
