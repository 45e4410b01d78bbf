// SPDX-License-Identifier: Apache-2.0
// Layouts, limits and checks among the options of compilation, and those that do nothing or cannot be.

#include <gtest/gtest.h>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/fastrun_cache.h"
#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

TEST(Layout, UnknownLayoutIsRefused) {
    CompileOptions o = options(2);
    o.layout = "NCHW5";
    Graph no_images = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    expect_refused([&] { Program::compile(no_images, o); }, "no layout named 'NCHW5'");
}

std::vector<std::string> algorithms(const Program& program) {
    std::vector<std::string> names;
    for (auto& step : program.steps()) names.push_back(step.op + ' ' + step.algorithm);
    return names;
}

TEST(Layout, LayoutWithoutKernelsIsIgnoredAndListed) {
    CompileOptions own = options(2), named = options(2);
    own.layout = "auto";
    auto chosen = Program::compile(conv_net(), own);
    EXPECT_TRUE(chosen->options_without_effect().empty());
    for (const char* layout : {"NCHW44", "NHWCD4", "CHWN4", "NCHW64"}) {
        named.layout = layout;
        ::testing::internal::CaptureStderr();
        auto program = Program::compile(conv_net(), named);
        EXPECT_NE(::testing::internal::GetCapturedStderr().find(text("layout ", layout, " has no effect")),
                  std::string::npos);
        EXPECT_EQ(algorithms(*program), algorithms(*chosen)) << layout;
        ASSERT_EQ(program->options_without_effect().size(), 1u);
        EXPECT_EQ(program->options_without_effect()[0].option, "layout");
        EXPECT_EQ(program->options_without_effect()[0].given, layout);
    }
    named.layout = "nhwc";
    EXPECT_TRUE(Program::compile(conv_net(), named)->options_without_effect().empty());
    named.layout = "nchw";
    EXPECT_TRUE(Program::compile(conv_net(), named)->options_without_effect().empty());
}

TEST(WorkspaceLimit, ActsOnEveryStep) {
    CompileOptions o = options(2);
    o.select.workspace_limit = 0;
    auto program = Program::compile(conv_net(), o);
    for (auto& step : program->steps()) EXPECT_EQ(step.workspace, 0u) << step.algorithm;
}

TEST(SharedBatchSize, OneMeasurementServesAllBatches) {
    Graph graph = record({f32({8, 32})}, [](const Tensors& x) {
        return Tensors{ops::matmul(x[0], ramp({32, 16}))};
    });
    auto cache = FastrunCache::in_memory();
    CompileOptions o = options(2);
    o.select.profile = true;
    o.select.heuristic = false;
    o.select.shared_batch_size = 4;
    o.select.cache = cache.get();
    EXPECT_EQ(Program::compile(graph, o)->steps()[0].source, ChoiceSource::measured);
    Graph other = infer_shapes(graph, {f32({1, 32})});
    EXPECT_EQ(Program::compile(other, o)->steps()[0].source, ChoiceSource::cache);
    o.select.shared_batch_size = 0;
    EXPECT_EQ(Program::compile(other, o)->steps()[0].source, ChoiceSource::measured);
}

std::vector<std::string> ignored(const Graph& graph, const CompileOptions& o) {
    std::vector<std::string> fields;
    auto program = Program::compile(graph, o);
    for (auto& option : program->options_without_effect()) fields.push_back(option.option);
    return fields;
}

using Fields = std::vector<std::string>;

// A switch without effect is reported if it is on, but not if it is off or unset.
TEST(Switches, WithoutEffectAreListed) {
    Graph nothing = record({f32({4, 4})}, [](const Tensors& x) { return Tensors{ops::matmul(x[0], x[0])}; });
    auto with = [](auto member, bool on) {
        CompileOptions o;
        o.log_level = 0;
        o.switches.*member = on;
        return o;
    };
    std::vector<std::pair<std::string, std::optional<bool> PassSwitches::*>> switches{
        {"switches.fuse_bias", &PassSwitches::fuse_bias},
        {"switches.fuse_residual", &PassSwitches::fuse_residual},
        {"switches.join_means", &PassSwitches::join_means},
        {"switches.fuse_preprocess", &PassSwitches::fuse_preprocess},
        {"switches.pack_weights", &PassSwitches::pack_weights}};
    for (auto& [field, member] : switches) {
        EXPECT_EQ(ignored(nothing, with(member, true)), Fields{field});
        EXPECT_EQ(ignored(nothing, with(member, false)), Fields{});
    }
    for (size_t i : {0, 1})
        EXPECT_EQ(ignored(conv_net(), with(switches[i].second, true)), Fields{}) << switches[i].first;
    // On 64-bit Arm no algorithm for convolutions of several pixels packs weights ahead of time.
    EXPECT_EQ(ignored(conv_net(), with(&PassSwitches::pack_weights, true)),
              cpu_isa() < Isa::sse4 ? Fields{"switches.pack_weights"} : Fields{});
    CompileOptions o;
    o.log_level = 0;
    o.switches.fuse_elementwise = 1;
    o.switches.store_half = true;
    EXPECT_EQ(
        ignored(record({{DType::i32, {4}}}, [](const Tensors& x) { return Tensors{ops::neg(x[0])}; }), o),
        (Fields{"switches.fuse_elementwise", "switches.store_half"}));
}

TEST(CompileOptions, ReportsOptionsWithoutEffectOnAnyDevice) {
    CompileOptions o = options(2);
    o.switches.fuse_elementwise = std::nullopt;
    o.plan.copies_beside = o.plan.records_runs = false;
    o.allreduce_pack_ignore_first = 3;
    o.enable_grad_var_static_reshape = true;
    testing::internal::CaptureStderr();
    EXPECT_EQ(ignored(conv_net(), o),
              (Fields{"plan.copies_beside", "plan.records_runs", "allreduce_pack_ignore_first",
                      "enable_grad_var_static_reshape"}));
    EXPECT_NE(
        testing::internal::GetCapturedStderr().find("enable_grad_var_static_reshape true has no effect"),
        std::string::npos);
}

TEST(VerifyPasses, RejectsAnInvalidGraph) {
    constexpr Pass spoiling{"spoil", 0, [](Graph graph, const PassOptions&) {
                                graph.value(graph.node(0).outputs[0]).spec.dtype = DType::i32;
                                return graph;
                            }};
    Graph graph = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    CompileOptions o = options(0);
    o.own_passes = {&spoiling};
    o.verify_passes = true;
    EXPECT_THROW(Program::compile(graph, o), Error);
}

TEST(CompileOptions, RejectsOptionsOfMissingFeatures) {
    auto refuse = [](auto change, ErrorCode code, const char* name) {
        CompileOptions o;
        change(o);
        try {
            check(o);
            ADD_FAILURE() << name << " was accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), code) << e.what();
            EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
        }
    };
    refuse([](auto& o) { o.switches.store_half = o.switches.compute_half = true; }, ErrorCode::usage,
           "[switches.compute_half] contradicts switches.store_half");
    refuse([](auto& o) { o.switches.fuse_elementwise = 5; }, ErrorCode::usage, "switches.fuse_elementwise");
    refuse([](auto& o) { o.level = -4; }, ErrorCode::usage, "[level] -4 is not between -3 and 3");
    refuse([](auto& o) { o.level = 4; }, ErrorCode::usage, "[level] 4 is not between -3 and 3");
    refuse([](auto& o) { o.weight_bits = 3; }, ErrorCode::usage, "[weight_bits] is 0, 4 or 8, not 3");
    refuse(
        [](auto& o) {
            o.level = -1;
            o.weight_bits = 8;
        },
        ErrorCode::usage, "[level] contradicts weight_bits");
    refuse([](auto& o) { o.allreduce_pack_max_size = 1; }, ErrorCode::device,
           "[allreduce_pack_max_size] a collective of a graph sends one tensor");
    refuse([](auto& o) { o.eager_evaluation = true; }, ErrorCode::usage, "[eager_evaluation] a graph whose");
    refuse([](auto& o) { o.comp_node_seq_record_level = 3; }, ErrorCode::usage, "record_level");
}

}  // namespace
}  // namespace mge::test
