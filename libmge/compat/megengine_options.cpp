// SPDX-License-Identifier: Apache-2.0
#include "libmge/compat/megengine_options.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "libmge/base/error.h"

namespace mge::compat {
namespace {

// An option's names. `path` is the field if empty, and `name` the last part of the path.
struct Names {
    std::string_view field, path{}, name{}, flag{}, keyword{};
    bool has_own_flag = false;
};

constexpr std::string_view tensorrt_path = "graph_opt.tensorrt";
constexpr std::string_view layout_path = "graph_opt.layout_transform";

// In the order of reports: field, path, name, flag, keyword, whether load_and_run defines the flag itself.
constexpr Names all_names[] = {
    {"level", "graph_opt_level", "", "--graph-opt-level", "opt_level"},
    {"switches.fuse_bias", "graph_opt.fuse_conv_bias_nonlinearity", "",
     "--enable-fuse-conv-bias-nonlinearity", "enable_fuse_conv_bias_nonlinearity"},
    {"switches.fuse_residual", "graph_opt.fuse_conv_bias_with_z", "", "--enable-fuse-conv-bias-with-z",
     "enable_fuse_conv_bias_with_z"},
    {"switches.join_means", "graph_opt.fuse_grain", "", "--fuse-grain", "enable_fuse_grain"},
    {"switches.fuse_preprocess", "graph_opt.fuse_preprocess", "", "--enable-fuse-preprocess",
     "enable_fuse_preprocess"},
    {"switches.pack_weights", "graph_opt.weight_preprocess", "", "--weight-preprocess"},
    {"switches.fuse_elementwise", "graph_opt.jit", "", "--jit-level"},
    {"switches.fuse_transposes", "graph_opt.jit_config.fuse_dimshuffle", "jit_fuse_dimshuffle",
     "--jit-fuse-dimshuffle", "graph_opt_config.jit_fuse_dimshuffle"},
    {"switches.fuse_reductions", "graph_opt.jit_config.fuse_reduce", "jit_fuse_reduce", "--jit-fuse-reduce",
     "graph_opt_config.jit_fuse_reduce"},
    {"switches.compute_half", "graph_opt.f16_io_comp", "", "--enable-ioc16", "enable_ioc16"},
    {"switches.store_half", "graph_opt.f16_io_f32_comp", "", "--enable-io16xc32", "enable_io16xc32"},
    {tensorrt_path, "", "", "--tensorrt"},
    {"layout", "", "", "--enable-nchw88", "", true},
    {layout_path, "", "graph_opt_layout_transform"},
    {"measure_layouts", "", "layout_transform", "--layout-transform", "", true},
    {"plan.in_place", "seq_opt.enable_mem_plan_opt", "", "--enable-mem-plan-opt"},
    {"plan.reuse", "seq_opt.enable_mem_reuse_alloc", "", "--enable-mem-reuse-alloc"},
    {"plan.copies_beside", "seq_opt.enable_seq_comp_node_opt"},
    {"plan.records_runs", "seq_opt.enable_run_recording", "", "--enable-run-recording"},
    {"recompute.endpoints", "opr_attribute.sublinear_memory_endpoint", "", "--sublinear-memory-endpoint"},
    {"recompute.lowers_peak", "enable_sublinear_memory_opt", "", "--enable-sublinear-memory-opt",
     "sublinear_memory_config"},
    {"recompute.tries", "sublinear_mem_config.thresh_nr_try", "sublinear_thresh_nr_try",
     "--sublinear-thresh-nr-try", "sublinear_memory_config.thresh_nr_try"},
    {"recompute.rounds", "sublinear_mem_config.genetic_nr_iter", "sublinear_genetic_nr_iter",
     "--sublinear-genetic-nr-iter", "sublinear_memory_config.genetic_nr_iter"},
    {"recompute.pool", "sublinear_mem_config.genetic_pool_size", "sublinear_genetic_pool_size",
     "--sublinear-genetic-pool-size", "sublinear_memory_config.genetic_pool_size"},
    {"recompute.least_peak", "sublinear_mem_config.lb_memory_mb", "sublinear_lb_memory",
     "--sublinear-lb-memory", "sublinear_memory_config.lb_memory_mb"},
    {"recompute.workers", "sublinear_mem_config.num_worker", "sublinear_num_worker", "--sublinear-num-worker",
     "sublinear_memory_config.num_worker"},
    {"recompute.keeps_budget", "enable_dtr_memory_opt", "", "--enable-dtr-memory-opt", "dtr_config"},
    {"recompute.budget", "dtr_config.eviction_threshold", "dtr_eviction_threshold",
     "--dtr-eviction-threshold", "dtr_config.eviction_threshold"},
    {"recompute.smallest", "dtr_config.evictee_minimum_size", "dtr_evictee_minimum_size",
     "--dtr-evictee-minimum-size", "dtr_config.evictee_minimum_size"},
    {"recompute.memory_weight", "dtr_config.recomp_memory_factor", "dtr_recomp_memory_factor", "",
     "dtr_config.recomp_memory_factor"},
    {"recompute.time_weight", "dtr_config.recomp_time_factor", "dtr_recomp_time_factor", "",
     "dtr_config.recomp_time_factor"},
    {"enable_memory_swap", "", "", "--enable-memory-swap"},
    {"no_force_inplace", "", "", "--no-force-inplace"},
    {"enable_var_mem_defragment", "", "", "--enable-var-mem-defragment"},
    {"force_dynamic_alloc", "", "", "--force-dynamic-alloc"},
    {"force_output_dynamic_alloc", "", "", "--force-output-dynamic-alloc"},
    {"force_output_use_user_specified_memory", "", "", "--force-output-use-user-specified-memory"},
    {"allocate_static_mem_after_graph_compile", "", "", "--allocate-static-mem-after-graph-compile"},
    {"async_exec_level", "", "", "--async-exec-level"},
    {"comp_seq_sync_device", "", "", "--comp-seq-sync-device"},
    {"const_shape", "", "", "--const-shape"},
    {"fake_next_exec", "", "", "--fake-first"},
    {"comp_node_seq_record_level", "", "", "--record-comp-seq", "", true},
    {"no_profiling_on_shape_change", "", "", "--no-profiling-on-shape-change"},
    {"var_sanity_check_first_run", "", "", "--no-sanity-check", "", true},
    {"keeps_weights"},
    {"log_level", "", "", "--compile-log-level"},
    {"verify_passes"},
    {"allreduce_pack_max_size"},
    {"allreduce_pack_ignore_first"},
    {"enable_grad_var_static_reshape"},
    {"eager_evaluation"},
    {"precision", "", "", "--precision", "precision"},
    {"weight_bits", "", "", "--weight-bits", "weight_bits"},
    {"threads", "", "", "--threads", "", true},
    {"workspace_factor", "", "", "--workspace-factor"},
    {"select.heuristic"},
    {"select.profile", "", "reads_cache", "--fast-run", "", true},
    {"select.optimized", "", "", "--fast-run", "", true},
    {"select.reproducible", "", "", "--reproducible", "", true},
    {"select.same_between_batches", "", "binary_equal_between_batch", "--binary-equal-between-batch", "",
     true},
    {"select.reference"},
    {"select.forced"},
    {"select.workspace_limit", "", "", "--workspace-limit", "", true},
    {"select.shared_batch_size", "", "", "--fast-run-shared-batch-size", "", true},
};

bool set_transform(CompileOptions& options, const OptionValue& value) {
    auto* name = std::get_if<std::string>(&value);
    if (!name || std::ranges::find(layout_transform_names, *name) == layout_transform_names.end())
        return false;
    const std::string unset = CompileOptions().layout;
    if (!name->empty() && options.layout != unset && options.layout != *name)
        throw_value_error(named(options, layout_path), "contradicts ", named(options, "layout"),
                          ": give one of them");
    if (!name->empty()) options.layout = *name;
    return true;
}

bool set_tensorrt(CompileOptions& options, const OptionValue& value) {
    auto* is_on = std::get_if<bool>(&value);
    if (is_on && *is_on)
        throw Error(ErrorCode::device, ErrorClass::not_implemented,
                    text('[', named(options, tensorrt_path), "] mge has no TensorRT backend"));
    return is_on;
}

// Options that the engine has under another field, or not at all.
const OptionInfo foreign[] = {
    {.field = tensorrt_path,
     .doc = "Let TensorRT run parts of the model; an error: there is no TensorRT backend",
     .is_stored = false,
     .type = OptionType::truth,
     .get = [](const CompileOptions&) -> OptionValue { return false; },
     .set = set_tensorrt},
    {.field = layout_path,
     .doc = "Sets `layout`, by MegEngine's names",
     .words = layout_transform_names,
     .is_stored = false,
     .type = OptionType::text,
     .get = [](const CompileOptions&) -> OptionValue { return std::string(); },
     .set = set_transform},
};

NamedOption with_names(const Names& names) {
    auto* own = find_option(names.field);
    auto* info = own ? own : std::ranges::find(foreign, names.field, &OptionInfo::field);
    auto path = names.path.empty() ? names.field : names.path;
    auto name = names.name.empty() ? path.substr(path.rfind('.') + 1) : names.name;
    return {*info, path, name, names.flag, names.keyword, names.has_own_flag};
}

const NamedOption* find_by_field(std::string_view field) {
    auto options = named_options();
    auto found = std::ranges::find(options, field, &NamedOption::field);
    return found == options.end() ? nullptr : &*found;
}

}  // namespace

std::span<const NamedOption> named_options() {
    static const auto options = [] {
        std::vector<NamedOption> result;
        for (auto& names : all_names) result.push_back(with_names(names));
        for (auto& option : compile_option_list()) {
            bool has_names = std::ranges::find(result, option.field, &NamedOption::field) != result.end();
            MGE_CHECK(has_names == option.is_value(), option.field, " needs names");
        }
        return result;
    }();
    return options;
}

const NamedOption* find_named_option(std::string_view name) {
    auto options = named_options();
    auto found = std::ranges::find(options, name, &NamedOption::name);
    return found == options.end() ? nullptr : &*found;
}

std::string_view path_of(std::string_view field) {
    auto* option = find_by_field(field);
    return option ? option->path : field;
}

std::string_view flag_of(std::string_view field) {
    if (field == "layout") return field;  // each layout has a flag of its own
    auto* option = find_by_field(field);
    return option && !option->flag.empty() ? option->flag : path_of(field);
}

std::string_view keyword_of(std::string_view field) {
    auto* option = find_by_field(field);
    return option && !option->keyword.empty() ? option->keyword : path_of(field);
}

void GraphOptimization::apply(CompileOptions& options) const {
    options.switches = {.fuse_bias = fuse_conv_bias_nonlinearity,
                        .fuse_residual = fuse_conv_bias_with_z,
                        .join_means = fuse_grain,
                        .fuse_preprocess = fuse_preprocess,
                        .pack_weights = weight_preprocess,
                        .fuse_elementwise = jit,
                        .fuse_transposes = jit_config.fuse_dimshuffle,
                        .fuse_reductions = jit_config.fuse_reduce,
                        .store_half = f16_io_f32_comp,
                        .compute_half = f16_io_comp};
    set_tensorrt(options, tensorrt);
    set_transform(options, std::string(layout_transform_names.at(size_t(layout_transform))));
}

GraphOptimization& GraphOptimization::enable(LayoutTransform layout) {
    if (layout_transform != LayoutTransform::unset && layout_transform != layout)
        throw_value_error(layout_path, layout_transform_names.at(size_t(layout)), " contradicts ",
                          layout_transform_names.at(size_t(layout_transform)), "; disable that first");
    return set(&GraphOptimization::layout_transform, layout);
}

GraphOptimization& GraphOptimization::disable(LayoutTransform layout) {
    if (layout_transform == layout) layout_transform = LayoutTransform::unset;
    return *this;
}

}  // namespace mge::compat
