// SPDX-License-Identifier: Apache-2.0
// MegEngine's names of options and what they become.

#include "libmge/compat/megengine_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/base/error.h"
#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

using namespace compat;
using testing::HasSubstr;

TEST(GraphOptimization, SwitchesAreSetInChains) {
    GraphOptimization o;
    EXPECT_FALSE(o.has_set_weight_preprocess());
    auto& same = o.enable_weight_preprocess().disable_fuse_grain().enable_f16_io_f32_comp();
    EXPECT_EQ(&same, &o);
    EXPECT_TRUE(o.has_set_weight_preprocess());
    EXPECT_FALSE(o.has_set_fuse_grain());
    EXPECT_EQ(o.fuse_grain, false);
    EXPECT_EQ(o.fuse_preprocess, std::nullopt) << "the engine's matter";
    EXPECT_TRUE(o.has_set_f16_io_f32_comp());
    EXPECT_FALSE(o.disable_f16_io_f32_comp().has_set_f16_io_f32_comp());
}

TEST(LayoutTransform, IsActive) {
    GraphOptimization o;
    EXPECT_TRUE(o.enable_nchw44().has_set_nchw44());
    expect_refused([&] { o.enable_nchw88(); }, "NCHW88 contradicts NCHW44");
    EXPECT_TRUE(o.disable_nchw88().has_set_nchw44()) << "which is another";
    EXPECT_TRUE(o.disable_nchw44().enable_nchw88().has_set_nchw88());
    EXPECT_FALSE(o.has_set_nchw44());
}

CompileOptions applied(const GraphOptimization& graph_opt) {
    CompileOptions options{.naming = path_of};
    graph_opt.apply(options);
    return options;
}

TEST(GraphOptimization, BecomesSwitches) {
    EXPECT_EQ(applied(GraphOptimization().enable_fuse_conv_bias_nonlinearity()).switches.fuse_bias, true);
    EXPECT_EQ(applied(GraphOptimization().disable_fuse_conv_bias_with_z()).switches.fuse_residual, false);
    EXPECT_EQ(applied(GraphOptimization().enable_fuse_grain()).switches.join_means, true);
    EXPECT_EQ(applied(GraphOptimization().enable_fuse_preprocess()).switches.fuse_preprocess, true);
    EXPECT_EQ(applied(GraphOptimization().enable_weight_preprocess()).switches.pack_weights, true);
    EXPECT_TRUE(applied(GraphOptimization().enable_f16_io_comp()).switches.compute_half);
    EXPECT_TRUE(applied(GraphOptimization().enable_f16_io_f32_comp()).switches.store_half);
    auto jit = applied({.jit = 1, .jit_config = {.fuse_dimshuffle = false, .fuse_reduce = true}}).switches;
    EXPECT_EQ(jit.fuse_elementwise, 1);
    EXPECT_EQ(jit.fuse_transposes, false);
    EXPECT_EQ(jit.fuse_reductions, true);
    EXPECT_THROW(applied({.tensorrt = true}), Error);
}

TEST(LayoutTransform, BecomesTheLayout) {
    EXPECT_EQ(applied({}).layout, "auto");
    EXPECT_EQ(applied(GraphOptimization().enable_nchw44_dot()).layout, "NCHW44_DOT");
    CompileOptions other{.layout = "nhwc", .naming = path_of};
    expect_refused([&] { GraphOptimization().enable_nchw88().apply(other); },
                   "[graph_opt.layout_transform] contradicts layout");
}

TEST(NamedOptions, HaveNamesForEachInterface) {
    EXPECT_EQ(path_of("switches.fuse_elementwise"), "graph_opt.jit");
    EXPECT_EQ(flag_of("switches.fuse_elementwise"), "--jit-level");
    EXPECT_EQ(keyword_of("switches.fuse_bias"), "enable_fuse_conv_bias_nonlinearity");
    EXPECT_EQ(keyword_of("plan.in_place"), "seq_opt.enable_mem_plan_opt") << "which has no keyword";
    EXPECT_EQ(flag_of("callback_outputs"), "callback_outputs") << "which only C++ gives";
    EXPECT_EQ(find_named_option("jit")->field, "switches.fuse_elementwise");
    EXPECT_EQ(find_named_option("no_such_option"), nullptr);
}

TEST(NamedOptions, AreInMessagesOfTheEngine) {
    CompileOptions o;
    o.switches.store_half = o.switches.compute_half = true;
    expect_refused([&] { check(o); }, "[switches.compute_half] contradicts switches.store_half");
    o.naming = path_of;
    expect_refused([&] { check(o); }, "[graph_opt.f16_io_comp] contradicts graph_opt.f16_io_f32_comp");
    o.naming = flag_of;
    expect_refused([&] { check(o); }, "[--enable-ioc16] contradicts --enable-io16xc32");
}

}  // namespace
}  // namespace mge::test
