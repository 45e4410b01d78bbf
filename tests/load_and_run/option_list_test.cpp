// SPDX-License-Identifier: Apache-2.0
// Every option of a compilation, on each way into and out of CompileOptions: the list of options is walked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "apps/cli/tool.h"
#include "apps/load_and_run/compile_options.h"
#include "apps/load_and_run/options/options.h"
#include "libmge/base/error.h"
#include "libmge/compat/megengine_options.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/model/stored_options.h"
#include "tests/model/sample_models.h"

namespace mge::load_and_run {
namespace {

using testing::HasSubstr;

std::string read(const std::string& path) {
    std::ifstream file(MGE_SOURCE_FOLDER + ("/" + path));
    std::ostringstream content;
    content << file.rdbuf();
    EXPECT_FALSE(content.str().empty()) << path;
    return content.str();
}

// Another value than the default.
OptionValue other_value(const OptionInfo& option) {
    static const std::map<std::string_view, OptionValue> special{{"layout", std::string("NCHW88")},
                                                                 {"select.workspace_limit", int64_t(4096)},
                                                                 {"threads", int64_t(3)},
                                                                 {"weight_bits", int64_t(8)}};
    if (auto found = special.find(option.field); found != special.end()) return found->second;
    OptionValue now = option.get(CompileOptions());
    switch (option.type) {
        case OptionType::truth:
            return !(std::holds_alternative<bool>(now) && std::get<bool>(now));
        case OptionType::whole: {
            auto* number = std::get_if<int64_t>(&now);
            int64_t from = number ? *number : option.least;
            return from < option.most ? from + 1 : from - 1;
        }
        case OptionType::real:
            return std::get<double>(now) + 0.5;
        case OptionType::text:
            return option.words.empty() ? "x" : std::string(option.words.back());
        case OptionType::texts:
            return std::vector<std::string>{"a", "b"};
        case OptionType::object:
            break;
    }
    return {};
}

CompileOptions with(const OptionInfo& option, const OptionValue& value) {
    CompileOptions options;
    set_option(options, option, value);
    return options;
}

TEST(OptionList, NamesAndKeywordsAreDifferent) {
    std::set<std::string_view> fields, names, keywords;
    for (auto& option : compat::named_options()) {
        EXPECT_TRUE(fields.insert(option.field).second) << option.field;
        EXPECT_FALSE(option.doc.empty()) << option.field;
        EXPECT_TRUE(names.insert(option.name).second) << option.name;
        bool is_new = option.keyword.empty() || keywords.insert(option.keyword).second;
        EXPECT_TRUE(is_new) << option.keyword;
        EXPECT_EQ(compat::find_named_option(option.name), &option);
    }
    EXPECT_EQ(find_option("no_such_option"), nullptr);
    EXPECT_EQ(compat::find_named_option(""), nullptr);
}

// True for an option that the engine has under another field, or not at all.
bool is_foreign(const OptionInfo& option) { return !find_option(option.field); }

TEST(OptionList, EveryOptionIsInTheReport) {
    for (auto& option : compat::named_options()) {
        ASSERT_TRUE(to_json(CompileOptions()).contains(option.name)) << option.field;
        if (is_foreign(option)) continue;
        OptionValue value = other_value(option);
        ASSERT_NE(option.get(CompileOptions()), value) << option.field;
        auto report = to_json(with(option, value)), plain = to_json(CompileOptions());
        EXPECT_NE(report[option.name], plain[option.name]) << option.field;
        bool is_text = report[option.name].is_string();
        std::string shown = is_text ? report[option.name].get<std::string>() : report[option.name].dump();
        if (option.type == OptionType::texts) continue;
        EXPECT_EQ(shown, to_text(value)) << option.field;
    }
}

TEST(OptionList, ModelsStoreStorableOptions) {
    for (auto& option : compat::named_options()) {
        if (is_foreign(option)) continue;
        Model model = sample_models()[1];
        store_options(model, with(option, other_value(option)));
        auto stored = stored_options(model);
        ASSERT_TRUE(stored) << option.field;
        OptionValue expected = option.is_stored ? other_value(option) : option.get(CompileOptions());
        EXPECT_EQ(option.get(with_stored({}, *stored)), expected) << option.field;
    }
}

TEST(OptionList, UnknownNamesInModelsAreIgnoredWrongValuesAreNot) {
    Model model = sample_models()[1];
    auto carry = [&](const std::string& more) {
        model.metadata["load_and_run.options"] =
            R"({"version":1,"level":1,"layout":"nchw","inputs":"","threads":0,"algorithms":[])" + more + "}";
        return stored_options(model);
    };
    auto stored = carry(R"(,"of_a_later_version":{"a":1})");
    EXPECT_EQ(with_stored({}, *stored).level, 1);
    for (auto* bad : {R"(,"jit":"often")", R"(,"jit":7)", R"(,"const_shape":1)", R"(,"async_exec_level":-1)",
                      R"(,"sublinear_memory_endpoint":[1])", R"(,"dtr_eviction_threshold":1e30)",
                      R"(,"force_dynamic_alloc":{})"})
        EXPECT_THROW(carry(bad), ModelError) << bad;
}

TEST(OptionList, PackedModelInfoIsRead) {
    Model model = sample_models()[1];
    model.metadata["lite_info"] = R"({"valid":true,"name":"net","version":"1.13.0","options":{
        "weight_preprocess":true,"fuse_preprocess":false,"var_sanity_check_first_run":false,"jit_level":0,
        "graph_opt_level":1,"comp_node_seq_record_level":1,"of_a_later_version":3}})";
    auto stored = stored_options(model);
    ASSERT_TRUE(stored);
    CompileOptions options = with_stored({}, *stored);
    EXPECT_EQ(options.switches.pack_weights, true);
    EXPECT_EQ(options.switches.fuse_preprocess, std::nullopt) << "false says nothing there";
    EXPECT_EQ(options.switches.fuse_elementwise, std::nullopt);
    EXPECT_FALSE(options.var_sanity_check_first_run);
    EXPECT_EQ(options.level, 1);
    EXPECT_EQ(options.comp_node_seq_record_level, 1);
    model.metadata["lite_info"] = R"({"valid":true,"options":{"graph_opt_level":"high"}})";
    EXPECT_THROW(stored_options(model), ModelError);
    model.metadata["lite_info"] = R"({"valid":false})";
    EXPECT_FALSE(stored_options(model));
}

CompileOptions parsed(std::vector<std::string> flags) {
    cli::Invocation invocation;
    invocation.tool = "load_and_run";
    invocation.arguments = std::move(flags);
    invocation.arguments.insert(invocation.arguments.begin(), "model.mge");
    Options options = parse_options(invocation);
    auto cache = FastrunCache::in_memory();
    return make_compile_options(options, options.algorithms.measures() ? cache.get() : nullptr);
}

TEST(OptionList, EveryFlagSetsItsOption) {
    // Those that are lines of the tool's own.
    const std::map<std::string_view, std::string> by_hand{
        {"layout", "--enable-nchw88"},
        {"measure_layouts", "--layout-transform=cpu"},
        {"comp_node_seq_record_level", "--record-comp-seq"},
        {"var_sanity_check_first_run", "--no-sanity-check"},
        {"select.profile", "--fast-run"},
        {"select.optimized", "--fast-run"},
        {"select.reproducible", "--reproducible"},
        {"select.same_between_batches", "--binary-equal-between-batch"},
        {"select.workspace_limit", "--workspace-limit=4096"},
        {"select.shared_batch_size", "--fast-run-shared-batch-size=1"}};
    for (auto& option : compat::named_options()) {
        // Threads are the process's, there is no TensorRT.
        if (option.flag.empty() || option.field == "threads" || option.field == "graph_opt.tensorrt")
            continue;
        OptionValue value = other_value(option);
        std::vector<std::string> flags{text(option.flag, '=', to_text(value))};
        if (option.has_own_flag) flags = {by_hand.at(option.field)};
        EXPECT_EQ(flags[0].substr(0, flags[0].find('=')), option.flag);
        if (option.field == "select.shared_batch_size") flags.push_back("--fast-run");
        EXPECT_EQ(option.get(parsed(flags)), value) << flags[0];
    }
    EXPECT_THROW(parsed({"--tensorrt"}), Error);
}

// The test that shows the effect of each option.
TEST(OptionList, EveryOptionHasATestOfItsEffect) {
    const std::map<std::string_view, std::pair<std::string, std::string>> tests{
        {"level", {"compile/graph_optimization_test.cpp", "TEST(FuseConvBiasNonlinearity, HasThreeStates)"}},
        {"switches.fuse_bias",
         {"compile/graph_optimization_test.cpp", "TEST(FuseConvBiasNonlinearity, HasThreeStates)"}},
        {"switches.fuse_residual",
         {"compile/graph_optimization_test.cpp", "TEST(FuseConvBiasWithZ, HasThreeStates)"}},
        {"switches.join_means", {"compile/graph_optimization_test.cpp", "TEST(FuseGrain, HasThreeStates)"}},
        {"switches.fuse_preprocess", {"passes/fuse_preprocess_test.cpp", "TEST(FusePreprocess, "}},
        {"switches.pack_weights", {"compile/weights_test.cpp", "TEST(WeightPreprocess, "}},
        {"switches.fuse_elementwise", {"compile/graph_optimization_test.cpp", "TEST(Jit, HasLevels)"}},
        {"switches.fuse_transposes",
         {"compile/graph_optimization_test.cpp",
          "TEST(Switches, TransposeAndReductionSwitchesOverrideTheLevel)"}},
        {"switches.fuse_reductions",
         {"compile/graph_optimization_test.cpp",
          "TEST(Switches, TransposeAndReductionSwitchesOverrideTheLevel)"}},
        {"switches.compute_half",
         {"compile/graph_optimization_test.cpp", "TEST(F16InputOutput, HalvesWeightsAndPlan)"}},
        {"switches.store_half",
         {"compile/graph_optimization_test.cpp", "TEST(F16InputOutput, HalvesWeightsAndPlan)"}},
        {"graph_opt.tensorrt", {"compat/megengine_options_test.cpp", ".tensorrt = true"}},
        {"graph_opt.layout_transform",
         {"compat/megengine_options_test.cpp", "TEST(LayoutTransform, BecomesTheLayout)"}},
        {"layout", {"compile/options_test.cpp", "TEST(Layout, LayoutWithoutKernelsIsIgnoredAndListed)"}},
        {"measure_layouts", {"tools/test_load_and_run_flags.py", "--layout-transform"}},
        {"plan.in_place", {"compile/run_options_test.cpp", "TEST(PlanOptions, PlanMemory)"}},
        {"plan.reuse", {"compile/run_options_test.cpp", "TEST(PlanOptions, PlanMemory)"}},
        {"plan.copies_beside",
         {"compile/options_test.cpp", "TEST(CompileOptions, ReportsOptionsWithoutEffectOnAnyDevice)"}},
        {"plan.records_runs",
         {"compile/options_test.cpp", "TEST(CompileOptions, ReportsOptionsWithoutEffectOnAnyDevice)"}},
        {"recompute.endpoints",
         {"compile/recompute_test.cpp", "TEST(Recomputation, CutsAfterEndpointsOnly)"}},
        {"recompute.lowers_peak", {"compile/recompute_test.cpp", "TEST(Recomputation, "}},
        {"recompute.tries",
         {"compile/recompute_test.cpp", "TEST(Recomputation, MoreIterationsAreNeverWorse)"}},
        {"recompute.rounds",
         {"compile/recompute_test.cpp", "TEST(Recomputation, MoreIterationsAreNeverWorse)"}},
        {"recompute.pool", {"compile/recompute_test.cpp", "recompute.pool"}},
        {"recompute.least_peak", {"compile/recompute_test.cpp", "TEST(Recomputation, StopsAtTheBound)"}},
        {"recompute.workers",
         {"compile/recompute_test.cpp", "TEST(Recomputation, MoreIterationsAreNeverWorse)"}},
        {"recompute.keeps_budget", {"compile/memory_services_test.cpp", "TEST(Dtr, StaysWithinItsBudget)"}},
        {"recompute.budget", {"compile/memory_services_test.cpp", "TEST(Dtr, StaysWithinItsBudget)"}},
        {"recompute.smallest", {"compile/memory_services_test.cpp", "TEST(Dtr, StaysWithinItsBudget)"}},
        {"recompute.memory_weight",
         {"compile/memory_services_test.cpp", "TEST(MemoryOptions, ThatDoNothingAreListed)"}},
        {"recompute.time_weight",
         {"compile/memory_services_test.cpp", "TEST(MemoryOptions, ThatDoNothingAreListed)"}},
        {"enable_memory_swap",
         {"shadow/memory_test.cpp", "TEST(ShadowMemoryServices, ValuesThatWaitGoToTheHost)"}},
        {"no_force_inplace", {"compile/write_last_test.cpp", "TEST(WriteLast, UpdateWaitsForOtherReaders)"}},
        {"enable_var_mem_defragment",
         {"compile/memory_services_test.cpp", "TEST(Defragment, CompactsWhenNoHoleIsLargeEnough)"}},
        {"force_dynamic_alloc", {"compile/allocation_test.cpp", "force_dynamic_alloc"}},
        {"force_output_dynamic_alloc",
         {"compile/allocation_test.cpp", "TEST(ForceOutputDynamicAlloc, TransfersOutputs)"}},
        {"force_output_use_user_specified_memory",
         {"compile/memory_services_test.cpp", "TEST(BoundOutputs, "}},
        {"allocate_static_mem_after_graph_compile",
         {"compile/allocation_test.cpp", "TEST(AllocateStaticMem, AllocatesArenaWhileCompiling)"}},
        {"async_exec_level", {"shadow/time_test.cpp", "TEST(ShadowThreads, EachDeviceHasAnEnqueuingThread)"}},
        {"comp_seq_sync_device",
         {"shadow/time_test.cpp", "TEST(ShadowThreads, WaitMayReturnWithDevicesBusy)"}},
        {"const_shape", {"compile/run_options_test.cpp", "TEST(ConstShape, RefusesOtherShapes)"}},
        {"fake_next_exec", {"compile/run_options_test.cpp", "TEST(FakeNextExec, ComputesNothingOnce)"}},
        {"comp_node_seq_record_level",
         {"compile/run_options_test.cpp", "TEST(RecordLevel, TwoReleasesTheGraph)"}},
        {"no_profiling_on_shape_change",
         {"compile/fastrun_test.cpp", "TEST(NoProfilingOnShapeChange, KeepsTheAlgorithms)"}},
        {"var_sanity_check_first_run", {"compile/first_run_check_test.cpp", "TEST"}},
        {"keeps_weights", {"compile/weights_test.cpp", "TEST(WeightPreprocess, ObserversGetOriginals)"}},
        {"log_level", {"compile/log_test.cpp", "TEST(LogLevel, LogsNothingASummaryOrEachReplacement)"}},
        {"verify_passes", {"compile/options_test.cpp", "TEST(VerifyPasses, RejectsAnInvalidGraph)"}},
        {"allreduce_pack_max_size",
         {"compile/options_test.cpp", "TEST(CompileOptions, RejectsOptionsOfMissingFeatures)"}},
        {"allreduce_pack_ignore_first",
         {"compile/options_test.cpp", "TEST(CompileOptions, ReportsOptionsWithoutEffectOnAnyDevice)"}},
        {"enable_grad_var_static_reshape",
         {"compile/options_test.cpp", "TEST(CompileOptions, ReportsOptionsWithoutEffectOnAnyDevice)"}},
        {"eager_evaluation",
         {"compile/options_test.cpp", "TEST(CompileOptions, RejectsOptionsOfMissingFeatures)"}},
        {"precision",
         {"compile/precision_test.cpp", "TEST(Precision, RelaxedIsTheStrictProductOfRoundedFactors)"}},
        {"weight_bits",
         {"passes/compress_weights_test.cpp", "TEST(CompressWeights, KeepsLinearLayersInBytes)"}},
        {"threads", {"tools/test_load_and_run_flags.py", "--threads"}},
        {"workspace_factor", {"compile/fastrun_test.cpp", "TEST(FastRun, KeepsTheArenaWithinTheFactor)"}},
        {"select.heuristic", {"kernel/select_test.cpp", "heuristic"}},
        {"select.profile", {"kernel/select_test.cpp", "profile"}},
        {"select.optimized",
         {"kernel/select_test.cpp", "TEST(Select, OptimizedRunsTheReferenceWhenNothingElseFits)"}},
        {"select.reproducible", {"kernel/select_test.cpp", "TEST(Select, ReproducibleSkips)"}},
        {"select.same_between_batches", {"ops/equal_batches_test.cpp", "same_between_batches"}},
        {"select.reference", {"compile/replay_test.cpp", "TEST(Replay, UsesGivenAlgorithms)"}},
        {"select.forced", {"ops/equal_batches_test.cpp", "forced"}},
        {"select.workspace_limit", {"compile/options_test.cpp", "TEST(WorkspaceLimit, ActsOnEveryStep)"}},
        {"select.shared_batch_size",
         {"compile/options_test.cpp", "TEST(SharedBatchSize, OneMeasurementServesAllBatches)"}},
    };
    for (auto& option : compat::named_options()) {
        auto found = tests.find(option.field);
        ASSERT_NE(found, tests.end()) << option.field << " has no test of its effect";
        EXPECT_THAT(read("tests/" + found->second.first), HasSubstr(found->second.second)) << option.field;
    }
}

}  // namespace
}  // namespace mge::load_and_run
