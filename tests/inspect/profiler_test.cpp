// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/profile/profiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/device/default_device.h"
#include "libmge/graph/builder.h"
#include "libmge/inspect/profile/profile_rows.h"
#include "libmge/inspect/value_names.h"
#include "libmge/ops/all.h"

namespace mge {
namespace {

using testing::Ge;
using testing::Not;
using testing::SizeIs;

// relu(x · w + 1) · w, wide enough to take some microseconds.
Graph two_products() {
    constexpr int64_t n = 64;
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {n, n}, {}}, "x");
    std::vector<float> values(size_t(n * n), 0.01f);
    Tensor w = tensor_from_host({DType::f32, {n, n}, {}}, values.data(), default_device());
    InterpreterScope scope(builder);
    Tensor h = ops::relu(ops::add(ops::matmul(x, w), scalar_tensor(1, DType::f32)));
    builder.set_outputs({ops::softmax(ops::matmul(h, w), {.axis = 1})});
    return builder.take();
}

struct Recorded {
    std::shared_ptr<const Program> program = Program::compile(name_values(two_products()), {});
    std::unique_ptr<Context> context = Context::create(program);

    Profile profile(const ProfilerOptions& options, int runs) {
        Profiler profiler(*program, options);
        context->observe(&profiler);
        for (int i = 0; i < runs; ++i) context->run();
        context->observe(nullptr);
        context->run();
        const Profiler* all[] = {&profiler};
        return make_profile(*program, "model", all);
    }
};

TEST(Profiler, RecordsEveryRunWhileItObserves) {
    Recorded r;
    Profile p = r.profile({}, 5);
    EXPECT_EQ(p.runs_total, 5);
    ASSERT_THAT(p.runs, SizeIs(5));
    EXPECT_EQ(p.runs[0].start, 0);
    int64_t last = 0;
    for (auto& run : p.runs) {
        EXPECT_GE(run.start, last);
        last = run.start + run.duration();
        EXPECT_THAT(run.ends, SizeIs(r.program->steps().size()));
        EXPECT_TRUE(std::ranges::is_sorted(run.ends));
        EXPECT_GT(run.duration(), 0);
    }
}

TEST(Profiler, KeepsTheLatestRuns) {
    Recorded r;
    size_t run_bytes = 8 * (1 + r.program->steps().size());
    Profile p = r.profile({.memory = 3 * run_bytes}, 10);
    EXPECT_EQ(p.runs_total, 10);
    ASSERT_THAT(p.runs, SizeIs(3));
    EXPECT_EQ(p.runs[0].start, 0) << "times count from the oldest run that is kept";
    EXPECT_LT(p.runs[0].start, p.runs[1].start);
    EXPECT_LT(p.runs[1].start, p.runs[2].start);
    EXPECT_THAT(r.profile({.memory = 0}, 4).runs, SizeIs(1));
    EXPECT_THAT(r.profile({}, 0).runs, SizeIs(0));
}

TEST(Profiler, LeavesOutRunsThatBrokeOff) {
    Recorded r;
    Profiler profiler(*r.program);
    r.context->observe(&profiler);
    r.context->run();
    profiler.before_step(0, *r.context);
    const Profiler* all[] = {&profiler};
    Profile p = make_profile(*r.program, "model", all);
    EXPECT_EQ(p.runs_total, 2);
    EXPECT_THAT(p.runs, SizeIs(1));
}

TEST(Profiler, PartsDispatchFromKernels) {
    Recorded r;
    Profile p = r.profile({.dispatch = true}, 3);
    for (auto& run : p.runs) {
        ASSERT_THAT(run.begins, SizeIs(run.ends.size()));
        for (size_t i = 0; i < run.ends.size(); ++i) {
            EXPECT_LE(run.dispatched(i), run.begin(i));
            EXPECT_LE(run.begin(i), run.ends[i]);
        }
    }
    EXPECT_TRUE(p.has_side(ProfileSide::host));
    EXPECT_FALSE(r.profile({}, 1).has_side(ProfileSide::host));
}

TEST(Profiler, DescribesTheProgram) {
    Recorded r;
    Profile p = r.profile({}, 1);
    ASSERT_EQ(p.steps.size(), r.program->steps().size());
    std::vector<std::string> sources;
    double operations = 0;
    for (size_t i = 0; i < p.steps.size(); ++i) {
        auto& step = p.steps[i];
        EXPECT_EQ(step.type, r.program->steps()[i].op);
        EXPECT_EQ(step.algorithm, r.program->steps()[i].algorithm);
        EXPECT_THAT(step.outputs, Not(testing::IsEmpty()));
        sources.insert(sources.end(), step.sources.begin(), step.sources.end());
        // Called after all that it computes, whatever the value is called in which it ends.
        if (step.sources.size() > 1) {
            EXPECT_THAT(step.name, testing::AllOf(testing::HasSubstr(step.sources.front() + "+"),
                                                  testing::EndsWith("+" + step.sources.back())));
        }
        operations += step.operations.value_or(0);
    }
    // Two products, the added one, relu and softmax, in however many kernels.
    EXPECT_THAT(sources, SizeIs(Ge(5u)));
    EXPECT_GE(operations, 2 * 2.0 * 64 * 64 * 64);
    EXPECT_LT(operations, 2.2 * 2.0 * 64 * 64 * 64);
    EXPECT_EQ(p.memory->plan, int64_t(r.program->memory().plan));
    // Values of the arena are inside it while the steps that need them run.
    for (auto& value : p.values) {
        if (value.place != "arena") continue;
        EXPECT_LE(value.offset + value.bytes, p.memory->plan);
        EXPECT_GE(value.first_step, 0);
        EXPECT_LT(value.last_step, int(p.steps.size()));
    }
}

TEST(Profiler, AddsUpToTheRun) {
    Recorded r;
    Profile p = r.profile({}, 1);
    EXPECT_DOUBLE_EQ(*total_time(p, ProfileSide::device, RunStatistic::last),
                     double(p.runs[0].duration()) * 1e-9);
}

}  // namespace
}  // namespace mge
