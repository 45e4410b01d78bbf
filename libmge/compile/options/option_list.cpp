// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/options/option_list.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/compile/options/option_codec.h"

namespace mge {

// What every member can be made from. Never called, so never defined; outside of the unnamed namespace,
// within which clang wants definitions.
struct Anything {
    template <class T>
    operator T&() const&;
    template <class T>
    operator T&&() const&&;
};

namespace {

template <auto Member, auto... Rest>
auto& at(auto& options) {
    if constexpr (sizeof...(Rest) == 0)
        return options.*Member;
    else
        return at<Rest...>(options.*Member);
}
template <auto... Path>
using TypeAt = std::remove_cvref_t<decltype(at<Path...>(std::declval<CompileOptions&>()))>;

template <class Codec, auto... Path>
constexpr OptionInfo coded_option(OptionInfo row) {
    row.type = Codec::type;
    row.get = +[](const CompileOptions& o) { return Codec::get(at<Path...>(o)); };
    row.set = +[](CompileOptions& o, const OptionValue& value) { return Codec::set(at<Path...>(o), value); };
    return row;
}
template <auto... Path>
constexpr OptionInfo option(OptionInfo row) {
    using Type = TypeAt<Path...>;
    row.may_be_unset = requires(Type member) { member.reset(); };
    return coded_option<OptionCodec<Type>, Path...>(row);
}
template <auto... Path>
constexpr OptionInfo limit(OptionInfo row) {
    row.may_be_unset = true;
    return coded_option<LimitCodec, Path...>(row);
}
// What only a program in C++ gives.
constexpr OptionInfo object(std::string_view field, std::string_view doc) {
    return {.field = field, .doc = doc, .makes_flag = false, .is_stored = false};
}

using O = CompileOptions;
using Graph_ = GraphOptimization;
using Sequence = SequenceOptimization;
using Sublinear = SublinearMemConfig;
constexpr auto graph_opt = &O::graph_opt;
constexpr auto seq_opt = &O::seq_opt;
constexpr auto sublinear = &O::sublinear_mem_config;
constexpr auto dtr = &O::dtr_config;
constexpr auto chosen = &O::select;
constexpr int64_t any_size = INT64_MAX;

constexpr std::array rows{
    option<&O::level>({.field = "level",
                       .name = "graph_opt_level",
                       .flag = "--graph-opt-level",
                       .keyword = "opt_level",
                       .doc = "0: no passes; 1: algebra; 2: fusions and layouts too; 3: and --enable-jit. "
                              "Below zero: the same, and each run checks each value that a pass replaced",
                       .least = -3,
                       .most = 3}),
    option<graph_opt, &Graph_::fuse_conv_bias_nonlinearity>(
        {.field = "graph_opt.fuse_conv_bias_nonlinearity",
         .name = "fuse_conv_bias_nonlinearity",
         .flag = "--enable-fuse-conv-bias-nonlinearity",
         .keyword = "enable_fuse_conv_bias_nonlinearity",
         .doc = "Let convolutions take in bias and activation"}),
    option<graph_opt, &Graph_::fuse_conv_bias_with_z>(
        {.field = "graph_opt.fuse_conv_bias_with_z",
         .name = "fuse_conv_bias_with_z",
         .flag = "--enable-fuse-conv-bias-with-z",
         .keyword = "enable_fuse_conv_bias_with_z",
         .doc = "Let convolutions take in the sum with another image"}),
    option<graph_opt, &Graph_::fuse_grain>({.field = "graph_opt.fuse_grain",
                                            .name = "fuse_grain",
                                            .flag = "--fuse-grain",
                                            .keyword = "enable_fuse_grain",
                                            .doc = "Make chains of means one step"}),
    option<graph_opt, &Graph_::fuse_preprocess>({.field = "graph_opt.fuse_preprocess",
                                                 .name = "fuse_preprocess",
                                                 .flag = "--enable-fuse-preprocess",
                                                 .keyword = "enable_fuse_preprocess",
                                                 .doc = "Make the conversion of the input one step"}),
    option<graph_opt, &Graph_::weight_preprocess>({.field = "graph_opt.weight_preprocess",
                                                   .name = "weight_preprocess",
                                                   .flag = "--weight-preprocess",
                                                   .doc = "Pack weights ahead for the algorithms"}),
    option<graph_opt, &Graph_::jit>(
        {.field = "graph_opt.jit",
         .name = "jit",
         .flag = "--jit-level",
         .doc = "0: fuse no elementwise operators; 1: them and transpositions; 2: them and reductions",
         .most = 2}),
    option<graph_opt, &Graph_::jit_config, &JitConfig::fuse_dimshuffle>(
        {.field = "graph_opt.jit_config.fuse_dimshuffle",
         .name = "jit_fuse_dimshuffle",
         .flag = "--jit-fuse-dimshuffle",
         .keyword = "graph_opt_config.jit_fuse_dimshuffle",
         .doc = "Let fused steps transpose, whatever --jit-level says"}),
    option<graph_opt, &Graph_::jit_config, &JitConfig::fuse_reduce>(
        {.field = "graph_opt.jit_config.fuse_reduce",
         .name = "jit_fuse_reduce",
         .flag = "--jit-fuse-reduce",
         .keyword = "graph_opt_config.jit_fuse_reduce",
         .doc = "Let fused steps end with a reduction, whatever --jit-level says"}),
    option<graph_opt, &Graph_::f16_io_comp>(
        {.field = "graph_opt.f16_io_comp",
         .name = "f16_io_comp",
         .flag = "--enable-ioc16",
         .keyword = "enable_ioc16",
         .doc = "Store weights and values between steps as float16, compute in it where the device can"}),
    option<graph_opt, &Graph_::f16_io_f32_comp>(
        {.field = "graph_opt.f16_io_f32_comp",
         .name = "f16_io_f32_comp",
         .flag = "--enable-io16xc32",
         .keyword = "enable_io16xc32",
         .doc = "Store weights and values between steps as float16, compute in float32"}),
    option<graph_opt, &Graph_::tensorrt>({.field = "graph_opt.tensorrt",
                                          .name = "tensorrt",
                                          .flag = "--tensorrt",
                                          .doc = "Let TensorRT run parts of the model",
                                          .is_stored = false}),
    option<graph_opt, &Graph_::layout_transform>(
        {.field = "graph_opt.layout_transform",
         .name = "graph_opt_layout_transform",
         .doc = "The layout of images in MegEngine's words; --enable-nchw88 and its like set `layout`",
         .words = layout_transform_names,
         .is_stored = false}),
    option<&O::layout>({.field = "layout",
                        .name = "layout",
                        .flag = "--enable-nchw88",
                        .doc = "The layout in which images lie; auto: by cost",
                        .makes_flag = false}),
    option<&O::measure_layouts>({.field = "measure_layouts",
                                 .name = "layout_transform",
                                 .flag = "--layout-transform",
                                 .doc = "Choose the layout of every part of the graph by measured times",
                                 .makes_flag = false,
                                 .is_stored = false}),
    option<seq_opt, &Sequence::enable_mem_plan_opt>(
        {.field = "seq_opt.enable_mem_plan_opt",
         .name = "enable_mem_plan_opt",
         .flag = "--enable-mem-plan-opt",
         .doc = "Let results overwrite inputs that nobody else reads; on unless given as =false"}),
    option<seq_opt, &Sequence::enable_mem_reuse_alloc>(
        {.field = "seq_opt.enable_mem_reuse_alloc",
         .name = "enable_mem_reuse_alloc",
         .flag = "--enable-mem-reuse-alloc",
         .doc = "Let values that are never alive together share memory; on unless given as =false"}),
    option<seq_opt, &Sequence::enable_seq_comp_node_opt>(
        {.field = "seq_opt.enable_seq_comp_node_opt",
         .name = "enable_seq_comp_node_opt",
         .doc = "Copy between host and device on a stream of its own, where a device has one"}),
    option<seq_opt, &Sequence::enable_run_recording>(
        {.field = "seq_opt.enable_run_recording",
         .name = "enable_run_recording",
         .flag = "--enable-run-recording",
         .doc = "Ask a GPU for a run by one call; on unless given as =false"}),
    option<&O::opr_attribute, &OprAttribute::sublinear_memory_endpoint>(
        {.field = "opr_attribute.sublinear_memory_endpoint",
         .name = "sublinear_memory_endpoint",
         .flag = "--sublinear-memory-endpoint",
         .doc = "Operators behind which alone recomputation may cut the graph; default: all"}),
    option<&O::enable_sublinear_memory_opt>(
        {.field = "enable_sublinear_memory_opt",
         .name = "enable_sublinear_memory_opt",
         .flag = "--enable-sublinear-memory-opt",
         .keyword = "sublinear_memory_config",
         .doc = "Compute values again that wait long for their last readers, so that fewer are alive at "
                "once"}),
    option<sublinear, &Sublinear::thresh_nr_try>(
        {.field = "sublinear_mem_config.thresh_nr_try",
         .name = "sublinear_thresh_nr_try",
         .flag = "--sublinear-thresh-nr-try",
         .keyword = "sublinear_memory_config.thresh_nr_try",
         .doc = "With --enable-sublinear-memory-opt: sizes of pieces tried around the best of the first"}),
    option<sublinear, &Sublinear::genetic_nr_iter>(
        {.field = "sublinear_mem_config.genetic_nr_iter",
         .name = "sublinear_genetic_nr_iter",
         .flag = "--sublinear-genetic-nr-iter",
         .keyword = "sublinear_memory_config.genetic_nr_iter",
         .doc = "With --enable-sublinear-memory-opt: rounds of random changes to the best cuts"}),
    option<sublinear, &Sublinear::genetic_pool_size>(
        {.field = "sublinear_mem_config.genetic_pool_size",
         .name = "sublinear_genetic_pool_size",
         .flag = "--sublinear-genetic-pool-size",
         .keyword = "sublinear_memory_config.genetic_pool_size",
         .doc = "With --sublinear-genetic-nr-iter: sets of cuts that go into the next round"}),
    option<sublinear, &Sublinear::lb_memory>(
        {.field = "sublinear_mem_config.lb_memory",
         .name = "sublinear_lb_memory",
         .flag = "--sublinear-lb-memory",
         .keyword = "sublinear_memory_config.lb_memory_mb",
         .unit = "MiB",
         .doc = "With --enable-sublinear-memory-opt: give no more up than brings the peak below this"}),
    option<sublinear, &Sublinear::num_worker>(
        {.field = "sublinear_mem_config.num_worker",
         .name = "sublinear_num_worker",
         .flag = "--sublinear-num-worker",
         .keyword = "sublinear_memory_config.num_worker",
         .doc = "With --enable-sublinear-memory-opt: threads that search",
         .most = 1024,
         .default_text = "half of the CPUs",
         .is_stored = false}),
    option<&O::enable_dtr_memory_opt>(
        {.field = "enable_dtr_memory_opt",
         .name = "enable_dtr_memory_opt",
         .flag = "--enable-dtr-memory-opt",
         .keyword = "dtr_config",
         .doc = "Compute values again as far as the peak is above --dtr-eviction-threshold"}),
    option<dtr, &DtrConfig::eviction_threshold>(
        {.field = "dtr_config.eviction_threshold",
         .name = "dtr_eviction_threshold",
         .flag = "--dtr-eviction-threshold",
         .keyword = "dtr_config.eviction_threshold",
         .unit = "bytes",
         .doc = "With --enable-dtr-memory-opt: what may be alive at once",
         .most = any_size}),
    option<dtr, &DtrConfig::evictee_minimum_size>({.field = "dtr_config.evictee_minimum_size",
                                                   .name = "dtr_evictee_minimum_size",
                                                   .flag = "--dtr-evictee-minimum-size",
                                                   .keyword = "dtr_config.evictee_minimum_size",
                                                   .unit = "bytes",
                                                   .doc = "With --enable-dtr-memory-opt: smaller values stay",
                                                   .most = any_size}),
    option<dtr, &DtrConfig::recomp_memory_factor>(
        {.field = "dtr_config.recomp_memory_factor",
         .name = "dtr_recomp_memory_factor",
         .keyword = "dtr_config.recomp_memory_factor",
         .doc = "How much the memory of a value weighs; without effect: plans are simulated"}),
    option<dtr, &DtrConfig::recomp_time_factor>(
        {.field = "dtr_config.recomp_time_factor",
         .name = "dtr_recomp_time_factor",
         .keyword = "dtr_config.recomp_time_factor",
         .doc = "How much its time weighs; without effect: plans are simulated"}),
    option<&O::enable_memory_swap>({.field = "enable_memory_swap",
                                    .name = "enable_memory_swap",
                                    .flag = "--enable-memory-swap",
                                    .doc = "Move large values that wait to host memory meanwhile; those of "
                                           "a CPU lie there already"}),
    option<&O::no_force_inplace>(
        {.field = "no_force_inplace",
         .name = "no_force_inplace",
         .flag = "--no-force-inplace",
         .doc = "Let no operator wait for the other readers of an operand so that it can write over it"}),
    option<&O::enable_var_mem_defragment>(
        {.field = "enable_var_mem_defragment",
         .name = "enable_var_mem_defragment",
         .flag = "--enable-var-mem-defragment",
         .doc = "When a value of a run-time shape does not fit, move the others together; on unless given "
                "as =false"}),
    option<&O::force_dynamic_alloc>(
        {.field = "force_dynamic_alloc",
         .name = "force_dynamic_alloc",
         .flag = "--force-dynamic-alloc",
         .doc = "Plan no memory: allocate each value when it is computed, free it after its last reader"}),
    option<&O::force_output_dynamic_alloc>(
        {.field = "force_output_dynamic_alloc",
         .name = "force_output_dynamic_alloc",
         .flag = "--force-output-dynamic-alloc",
         .doc = "Give outputs new memory in each run, as long as somebody holds the last run's"}),
    option<&O::force_output_use_user_specified_memory>(
        {.field = "force_output_use_user_specified_memory",
         .name = "force_output_use_user_specified_memory",
         .flag = "--force-output-use-user-specified-memory",
         .doc = "Write outputs into memory of the tool's own, without a copy",
         .is_stored = false}),
    option<&O::allocate_static_mem_after_graph_compile>(
        {.field = "allocate_static_mem_after_graph_compile",
         .name = "allocate_static_mem_after_graph_compile",
         .flag = "--allocate-static-mem-after-graph-compile",
         .doc = "Take the memory of the plan while compiling, not when a context is made"}),
    option<&O::async_exec_level>({.field = "async_exec_level",
                                  .name = "async_exec_level",
                                  .flag = "--async-exec-level",
                                  .doc = "Which threads ask for a program's work: 0 the caller; 1 one per "
                                         "device other than CPUs; 2 one per place; 4 never the caller",
                                  .most = 7}),
    option<&O::comp_seq_sync_device>(
        {.field = "comp_seq_sync_device",
         .name = "comp_seq_sync_device",
         .flag = "--comp-seq-sync-device",
         .doc = "Wait for devices, not only until they were asked; on unless given as =false"}),
    option<&O::const_shape>({.field = "const_shape",
                             .name = "const_shape",
                             .flag = "--const-shape",
                             .doc = "Take the inputs' shapes for constants: others are an error"}),
    option<&O::fake_next_exec>({.field = "fake_next_exec",
                                .name = "fake_next_exec",
                                .flag = "--fake-first",
                                .doc = "Let the first run prepare everything and compute nothing"}),
    option<&O::comp_node_seq_record_level>(
        {.field = "comp_node_seq_record_level",
         .name = "comp_node_seq_record_level",
         .flag = "--record-comp-seq",
         .doc = "Replay a recorded list of kernels; level 2 gives up the graph: shapes are fixed",
         .most = 2,
         .makes_flag = false}),
    option<&O::no_profiling_on_shape_change>(
        {.field = "no_profiling_on_shape_change",
         .name = "no_profiling_on_shape_change",
         .flag = "--no-profiling-on-shape-change",
         .doc = "Take the algorithms of the first shapes for all others, and measure no more"}),
    option<&O::var_sanity_check_first_run>(
        {.field = "var_sanity_check_first_run",
         .name = "var_sanity_check_first_run",
         .flag = "--no-sanity-check",
         .doc = "Check in the first run that no operator changes what it only reads",
         .makes_flag = false}),
    option<&O::keeps_weights>(
        {.field = "keeps_weights",
         .name = "keeps_weights",
         .doc = "Keep constants that steps read only as packed copies, for observers that look at them",
         .is_stored = false}),
    option<&O::log_level>({.field = "log_level",
                           .name = "log_level",
                           .flag = "--compile-log-level",
                           .doc =
                               "What MGE_LOG=passes,memory shows: 0 nothing; 1 a line per pass and plan; 2 "
                               "each replaced value",
                           .most = 2,
                           .is_stored = false}),
    option<&O::verify_passes>({.field = "verify_passes",
                               .name = "verify_passes",
                               .doc = "Verify the graph after each pass",
                               .is_stored = false}),
    option<&O::allreduce_pack_max_size>(
        {.field = "allreduce_pack_max_size",
         .name = "allreduce_pack_max_size",
         .unit = "MiB",
         .doc = "How much of gradients is packed into one collective; graphs pack none"}),
    option<&O::allreduce_pack_ignore_first>(
        {.field = "allreduce_pack_ignore_first",
         .name = "allreduce_pack_ignore_first",
         .doc = "How many of the first gradients are not packed; graphs pack none"}),
    option<&O::enable_grad_var_static_reshape>(
        {.field = "enable_grad_var_static_reshape",
         .name = "enable_grad_var_static_reshape",
         .doc = "Give gradients the known shape of their value; they have it anyhow"}),
    option<&O::eager_evaluation>({.field = "eager_evaluation",
                                  .name = "eager_evaluation",
                                  .doc = "Compute values when their operators are inserted; such a graph "
                                         "cannot be compiled",
                                  .is_stored = false}),
    option<&O::precision>(
        {.field = "precision",
         .name = "precision",
         .flag = "--precision",
         .keyword = "precision",
         .doc = "strict: f32; relaxed: products may round their factors to bf16; fast: values between "
                "steps may be bf16 too. Both where the device computes so faster",
         .words = precision_names}),
    option<&O::weight_bits>(
        {.field = "weight_bits",
         .name = "weight_bits",
         .flag = "--weight-bits",
         .keyword = "weight_bits",
         .doc = "Bits in which linear layers keep each weight, 8 or 4; arithmetic stays f32. 0: as they are",
         .most = 8}),
    option<&O::threads>({.field = "threads",
                         .name = "threads",
                         .flag = "--threads",
                         .doc = "Threads an operator may use",
                         .least = 1,
                         .most = 1024,
                         .default_text = "all of the process",
                         .makes_flag = false,
                         .is_stored = false}),
    option<&O::workspace_factor>(
        {.field = "workspace_factor",
         .name = "workspace_factor",
         .flag = "--workspace-factor",
         .doc = "With --fast-run: how far it may raise the plan above the one without it"}),
    option<chosen, &SelectOptions::heuristic>(
        {.field = "select.heuristic",
         .name = "heuristic",
         .doc = "Take the first algorithm of the list that fits, without measured times",
         .is_stored = false}),
    option<chosen, &SelectOptions::profile>({.field = "select.profile",
                                             .name = "reads_cache",
                                             .flag = "--fast-run",
                                             .doc = "Take algorithms by times from the cache, or measured",
                                             .makes_flag = false,
                                             .is_stored = false}),
    option<chosen, &SelectOptions::optimized>({.field = "select.optimized",
                                               .name = "optimized",
                                               .flag = "--fast-run",
                                               .doc = "Measure no reference algorithms",
                                               .makes_flag = false,
                                               .is_stored = false}),
    option<chosen, &SelectOptions::reproducible>({.field = "select.reproducible",
                                                  .name = "reproducible",
                                                  .flag = "--reproducible",
                                                  .doc = "Only algorithms that give the same bits every time",
                                                  .makes_flag = false}),
    option<chosen, &SelectOptions::same_between_batches>(
        {.field = "select.same_between_batches",
         .name = "binary_equal_between_batch",
         .flag = "--binary-equal-between-batch",
         .doc = "Only algorithms whose results do not depend on the batch size, bit by bit",
         .makes_flag = false}),
    option<chosen, &SelectOptions::reference>({.field = "select.reference",
                                               .name = "reference",
                                               .doc = "Take the algorithms that define the meaning",
                                               .is_stored = false}),
    option<chosen, &SelectOptions::forced>({.field = "select.forced",
                                            .name = "forced",
                                            .doc = "Take exactly this algorithm, by name",
                                            .is_stored = false}),
    limit<chosen, &SelectOptions::workspace_limit>({.field = "select.workspace_limit",
                                                    .name = "workspace_limit",
                                                    .flag = "--workspace-limit",
                                                    .unit = "bytes",
                                                    .doc = "Largest workspace of a step",
                                                    .most = any_size,
                                                    .makes_flag = false}),
    option<chosen, &SelectOptions::shared_batch_size>(
        {.field = "select.shared_batch_size",
         .name = "shared_batch_size",
         .flag = "--fast-run-shared-batch-size",
         .doc = "Measure with this batch size, whatever the inputs' is; 0: with the inputs'",
         .most = any_size,
         .makes_flag = false,
         .is_stored = false}),
    object("select.cache", "The fast-run cache"),
    object("select.lookups", "What one compilation has looked up in it"),
    object("select.measure", "Where times come from"),
    object("select.together", "Collects what is done once for many algorithms"),
    object("select.packed_copies", "Records each copy of a constant that is packed"),
    object("select.around", "The program that holds the graph"),
    object("passes", "Passes by name, on or off"),
    object("own_passes", "Further passes, behind the engine's own"),
    object("device", "The default place"),
    object("uploads", "Constants that other programs of the graph have uploaded"),
    object("algorithms", "The algorithm of each step, by name"),
    object("known_algorithms", "Those of another program of the graph"),
    object("callback_outputs", "Outputs that only the callback of Context::on_output reads"),
    object("extra_vardeps", "By value, others that are computed before anybody reads it"),
    object("progress", "Is told how far the compilation is"),
};

// How many members an aggregate has: as many as it can be made from.
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(void(I), Anything())...}; };
}
template <class T, size_t Guess = 64>
constexpr size_t member_count() {
    if constexpr (takes<T>(std::make_index_sequence<Guess>()))
        return Guess;
    else
        return member_count<T, Guess - 1>();
}

// How many different members below `parent` ("graph_opt.") the list names.
constexpr size_t named_below(std::string_view parent) {
    size_t count = 0;
    auto member = [&](std::string_view field) {
        std::string_view rest = field.starts_with(parent) ? field.substr(parent.size()) : std::string_view();
        return rest.substr(0, rest.find('.'));
    };
    for (size_t i = 0; i < rows.size(); ++i) {
        auto name = member(rows[i].field);
        bool is_new = !name.empty();
        for (size_t j = 0; j < i; ++j) is_new = is_new && member(rows[j].field) != name;
        count += is_new;
    }
    return count;
}

// A new field has a row above, or this does not compile.
static_assert(named_below("") == member_count<CompileOptions>(), "a field of CompileOptions has no row");
static_assert(named_below("graph_opt.") == member_count<GraphOptimization>());
static_assert(named_below("graph_opt.jit_config.") == member_count<JitConfig>());
static_assert(named_below("seq_opt.") == member_count<SequenceOptimization>());
static_assert(named_below("opr_attribute.") == member_count<OprAttribute>());
static_assert(named_below("sublinear_mem_config.") == member_count<SublinearMemConfig>());
static_assert(named_below("dtr_config.") == member_count<DtrConfig>());
static_assert(named_below("select.") == member_count<SelectOptions>());

std::string expected(const OptionInfo& option) {
    std::string words;
    switch (option.type) {
        case OptionType::truth:
            return "needs true or false";
        case OptionType::whole:
            return "needs a whole number";
        case OptionType::real:
            return "needs a number";
        case OptionType::texts:
            return "needs a list of texts";
        case OptionType::text:
            for (auto word : option.words)
                if (!word.empty()) words += text(words.empty() ? "needs one of " : ", ", word);
            return words.empty() ? "needs a text" : words;
        case OptionType::object:
            break;
    }
    return "cannot be given as a value";
}

}  // namespace

std::span<const OptionInfo> compile_option_list() { return rows; }

const OptionInfo* find_option(std::string_view field) {
    auto found = std::ranges::find(rows, field, &OptionInfo::field);
    return found == rows.end() ? nullptr : &*found;
}

const OptionInfo* find_named_option(std::string_view name) {
    auto found = name.empty() ? rows.end() : std::ranges::find(rows, name, &OptionInfo::name);
    return found == rows.end() ? nullptr : &*found;
}

std::string_view called(const OptionInfo& option, OptionWords words) {
    auto word = words == OptionWords::flags      ? option.flag
                : words == OptionWords::keywords ? option.keyword
                                                 : option.field;
    return word.empty() ? option.field : word;
}

std::string default_text(const OptionInfo& option) {
    if (!option.default_text.empty()) return std::string(option.default_text);
    return option.is_value() ? to_text(option.get(CompileOptions())) : "none";
}

std::string in_words(const std::string& message, OptionWords words) {
    size_t end = message.find(']');
    if (!message.starts_with('[') || end == message.npos) return message;
    auto* option = find_option(std::string_view(message).substr(1, end - 1));
    return option ? text('[', called(*option, words), message.substr(end)) : message;
}

std::string to_text(const OptionValue& value) {
    struct Writer {
        std::string operator()(std::monostate) const { return "unset"; }
        std::string operator()(bool given) const { return given ? "true" : "false"; }
        std::string operator()(int64_t given) const { return text(given); }
        std::string operator()(double given) const { return text(given); }
        std::string operator()(const std::string& given) const { return given; }
        std::string operator()(const std::vector<std::string>& given) const {
            std::string result;
            for (auto& part : given) result += (result.empty() ? "" : ",") + part;
            return result;
        }
    };
    return std::visit(Writer(), value);
}

void set_option(CompileOptions& options, const OptionInfo& option, const OptionValue& value,
                OptionWords words) {
    auto fail = [&](const std::string& what, ErrorClass kind) {
        throw_user(std::string(called(option, words)), what, kind);
    };
    auto refuse_bounds = [&](int64_t number) {
        if (number < option.least || number > option.most)
            fail(text(number, " is not between ", option.least, " and ", option.most), ErrorClass::value);
    };
    CompileOptions changed = options;
    bool is_whole = option.type == OptionType::whole;
    if (auto* given = std::get_if<int64_t>(&value); given && is_whole) refuse_bounds(*given);
    if (!option.is_value() || !option.set(changed, value))
        fail(text(expected(option), ", got '", to_text(value), "'"), ErrorClass::type);
    OptionValue now = option.get(changed);
    if (auto* number = std::get_if<int64_t>(&now); number && is_whole) refuse_bounds(*number);
    options = std::move(changed);
}

}  // namespace mge
