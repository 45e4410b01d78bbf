// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/call_profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "libmge/inspect/profile/profile_rows.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

Tensor ones(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()), 1);
    return tensor_from_host(f32(shape), values.data());
}

Executable net(const std::function<Tensor(const Tensor&)>& function) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({2, 2}), "x");
    InterpreterScope scope(builder);
    builder.set_outputs({function(x)});
    return {builder.take(), {}};
}

std::vector<std::string> types(const Profile& profile) {
    std::vector<std::string> result;
    for (int step : profile.order) result.push_back(profile.steps.at(size_t(step)).type);
    return result;
}

// As a file of MegEngine's, and read again.
Profile exported(const Profile& profile) {
    std::ostringstream stream;
    write_megengine_profile(stream, profile);
    std::string text = stream.str();
    return read_profile(std::as_bytes(std::span(text)), "exported.json");
}

TEST(CallProfiler, MergesProgramsOfACall) {
    auto first = net([](const Tensor& x) { return ops::matmul(ops::exp(x), x); });
    auto second = net([](const Tensor& x) { return ops::softmax(x, {.axis = 1}); });
    CallProfiler profiler;
    EXPECT_TRUE(profiler.is_empty());
    Tensor x = ones({2, 2}), wide = ones({3, 2});
    first.run({&x, 1}, &profiler);
    second.run({&wide, 1}, &profiler);
    EXPECT_FALSE(profiler.is_empty());

    Profile profile = profiler.profile();
    EXPECT_THAT(types(profile), ElementsAre("exp", "matmul", "softmax"));
    EXPECT_EQ(profile.runs_total, 1);
    ASSERT_THAT(profile.runs, SizeIs(1));
    auto& run = profile.runs[0];
    ASSERT_THAT(run.ends, SizeIs(3));
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_GE(run.begins[i], i ? run.ends[i - 1] : 0);
        EXPECT_GE(run.ends[i], run.begins[i]);
    }
    auto shapes = [&](size_t step) { return profile.output_shapes(profile.steps[step]); };
    EXPECT_THAT(shapes(1), ElementsAre(ElementsAre(2, 2)));
    EXPECT_THAT(shapes(2), ElementsAre(ElementsAre(3, 2)));
    // Values and operators are those of the second program, not of the first.
    int softmax = profile.steps[2].outputs.at(0);
    EXPECT_EQ(profile.values.at(size_t(softmax)).first_step, 2);
    EXPECT_EQ(profile.operators.at(size_t(profile.steps[2].origins.at(0))).op, "softmax");
    for (size_t i = 0; i < profile.values.size(); ++i) EXPECT_EQ(profile.values[i].id, std::to_string(i));

    Profile theirs = exported(profile);
    EXPECT_THAT(types(theirs), ElementsAre("exp", "matmul", "softmax"));
    for (auto side : {ProfileSide::device, ProfileSide::host}) {
        auto times = step_times(theirs, side, false, RunStatistic::median);
        for (size_t i = 0; i < 3; ++i) {
            auto expected = step_times(profile, side, false, RunStatistic::median)[i];
            ASSERT_TRUE(times[i] && expected);
            EXPECT_NEAR(*times[i], *expected, 1e-9);
        }
    }
}

TEST(CallProfiler, ConnectsViewsWithTheirSources) {
    auto first = net([](const Tensor& x) { return ops::exp(x); });
    auto second = net(
        [](const Tensor& x) { return ops::cumsum(ops::reshape(ops::exp(x), {.shape = {4}}), {.axis = 0}); });
    CallProfiler profiler;
    Tensor x = ones({2, 2});
    first.run({&x, 1}, &profiler);
    second.run({&x, 1}, &profiler);
    Profile theirs = exported(profiler.profile());
    EXPECT_THAT(types(theirs), ElementsAre("exp", "exp", "cumsum"));
    auto view = std::ranges::find(theirs.steps, "reshape", &ProfileStep::type);
    ASSERT_NE(view, theirs.steps.end());
    EXPECT_EQ(view->inputs, theirs.steps[1].outputs);
    EXPECT_EQ(view->outputs, theirs.steps[2].inputs);
}

TEST(CallProfiler, OmitsAbortedCalls) {
    auto sound = net([](const Tensor& x) { return ops::exp(x); });
    auto broken = net([](const Tensor& x) {
        return ops::take({ops::exp(x), ops::convert(ops::mul(x, ops::full({.shape = {1, 1}, .value = 7})),
                                                    {.dtype = DType::i32})},
                         {.axes = {0}});
    });
    CallProfiler profiler;
    Tensor x = ones({2, 2});
    EXPECT_THROW(broken.run({&x, 1}, &profiler), Error);
    EXPECT_TRUE(profiler.is_empty());
    EXPECT_THAT(profiler.profile().steps, IsEmpty());
    sound.run({&x, 1}, &profiler);
    EXPECT_THROW(broken.run({&x, 1}, &profiler), Error);
    EXPECT_THAT(types(profiler.profile()), ElementsAre("exp"));
}

TEST(CallProfiler, AProgramMayHaveNoSteps) {
    auto nothing = net([](const Tensor& x) { return x; });
    auto something = net([](const Tensor& x) { return ops::exp(x); });
    Tensor x = ones({2, 2});
    CallProfiler alone, first;
    nothing.run({&x, 1}, &alone);
    EXPECT_THAT(exported(alone.profile()).order, IsEmpty());
    nothing.run({&x, 1}, &first);
    something.run({&x, 1}, &first);
    Profile profile = first.profile();
    EXPECT_THAT(types(profile), ElementsAre("exp"));
    ASSERT_THAT(profile.runs, SizeIs(1));
    EXPECT_THAT(profile.runs[0].ends, SizeIs(1));
}

TEST(CallProfiler, ProfilesLoops) {
    auto loop = [] {
        return net([](const Tensor& x) {
            auto body = make_subgraph(TensorSpecs{f32({2, 2})}, [](std::span<const Tensor> in) -> Tensors {
                return {
                    ops::mul(ops::cumsum(in[0], {.axis = 0}), ops::full({.shape = {2, 2}, .value = 0.5}))};
            });
            return ops::scan({x}, {.body = body, .carried = 1, .length = 5})[0];
        });
    };
    auto before = net([](const Tensor&x) { return ops::exp(x); }), looping = loop();
    CallProfiler profiler;
    Tensor x = ones({2, 2});
    before.run({&x, 1}, &profiler);
    looping.run({&x, 1}, &profiler);
    Profile profile = profiler.profile();
    ASSERT_THAT(types(profile), ElementsAre("exp", "scan"));
    std::vector<std::string> paths;
    for (auto& inner : profile.inner_steps) {
        paths.push_back(inner.path);
        EXPECT_EQ(inner.step, 1);
        EXPECT_EQ(inner.count, 5);
    }
    EXPECT_THAT(paths, UnorderedElementsAre("scan#0/body/cumsum#1", "scan#0/body/mul#2"));
    Profile theirs = exported(profile);
    EXPECT_EQ(theirs.runs_total, 1);
    ASSERT_THAT(theirs.inner_steps, SizeIs(profile.inner_steps.size()));
    for (size_t i = 0; i < paths.size(); ++i) {
        EXPECT_EQ(theirs.inner_steps[i].path, paths[i]);
        EXPECT_EQ(theirs.inner_steps[i].step, 1);
        EXPECT_EQ(theirs.inner_steps[i].count, 5);
        EXPECT_EQ(theirs.inner_steps[i].total, profile.inner_steps[i].total);
    }
}

}  // namespace
}  // namespace mge::test
