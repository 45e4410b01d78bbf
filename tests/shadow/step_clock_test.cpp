// SPDX-License-Identifier: Apache-2.0
// Profiles of devices that work late: times are those of their clocks. That of the shadow device goes on by
// one millisecond with each piece of work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "libmge/inspect/device_peak.h"
#include "libmge/inspect/operator_recorder.h"
#include "libmge/inspect/profile/profile_rows.h"
#include "libmge/inspect/profile/profile_spans.h"
#include "libmge/inspect/profile/step_clock.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/move/to_device.h"
#include "tests/new_folder.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr int64_t ms = 1'000'000;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

// Steps that no pass puts together.
Graph in_line(int steps) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input(f32({3}), "x");
    for (int i = 0; i < steps; ++i) x = ops::cumsum(x, {.axis = 0});
    builder.set_outputs({x});
    return builder.take();
}

std::unique_ptr<Context> context_of(Graph graph, DeviceId device) {
    return Context::create(Program::compile(
        std::move(graph), {.device = device, .level = 0, .var_sanity_check_first_run = false}));
}

Profile profile_of(Context& context, const ProfilerOptions& options = {}, int runs = 1) {
    Profiler profiler(context.program(), options);
    context.observe(&profiler);
    for (int i = 0; i < runs; ++i) context.run();
    context.observe(nullptr);
    const Profiler* all[] = {&profiler};
    return make_profile(context.program(), "model", all);
}

std::vector<int64_t> times_of(const ProfileRun& run) {
    std::vector<int64_t> times;
    for (size_t i = 0; i < run.ends.size(); ++i) times.push_back(run.ends[i] - run.begin(i));
    return times;
}

TEST(StepClock, ReportsDeviceTimes) {
    DeviceId device = shadow_device(0, 2);
    auto context = context_of(in_line(3), device);
    Profile profile = profile_of(*context, {}, 4);
    ASSERT_THAT(profile.runs, SizeIs(4));
    for (auto& run : profile.runs) {
        EXPECT_TRUE(run.is_late);
        EXPECT_FALSE(run.has_host());
        EXPECT_THAT(times_of(run), ElementsAre(ms, ms, ms));
        EXPECT_EQ(run.duration(), run.ends.back());
    }
    EXPECT_EQ(*total_time(profile, ProfileSide::device, RunStatistic::median), 3e-3);
    EXPECT_FALSE(total_time(profile, ProfileSide::host, RunStatistic::median));
    ASSERT_THAT(profile.devices, SizeIs(1));
    EXPECT_EQ(profile.devices[0].name, "shadow0");
    EXPECT_EQ(profile.devices[0].model, "a shadow");
    for (auto& step : profile.steps) EXPECT_EQ(step.device, physical_name(device));
}

// The run stays as it is: the host asks for all of it, whatever the device does meanwhile.
TEST(StepClock, DoesNotWaitDuringARun) {
    DeviceId device = shadow_device(0, 2);
    auto context = context_of(in_line(3), device);
    for (bool dispatch : {false, true}) {
        Profiler profiler(context->program(), {.dispatch = dispatch});
        {
            queue_of(device).wait();
            HeldQueue held(device);
            context->observe(&profiler);
            for (int i = 0; i < 3; ++i) context->run();  // would not come back
            context->observe(nullptr);
        }
        auto runs = profiler.runs(0);
        ASSERT_THAT(runs, SizeIs(3));
        for (auto& run : runs) EXPECT_THAT(times_of(run), ElementsAre(ms, ms, ms));
        // The device came to the second run when it was through with the first.
        EXPECT_GE(runs[1].start + runs[1].begins[0], runs[0].start + runs[0].duration());
    }
}

TEST(StepClock, HasHostTimesToo) {
    auto context = context_of(in_line(3), shadow_device(0, 2));
    Profile profile = profile_of(*context, {.dispatch = true}, 2);
    for (auto& run : profile.runs) {
        EXPECT_THAT(times_of(run), ElementsAre(ms, ms, ms));
        ASSERT_TRUE(run.has_host());
        ASSERT_THAT(run.host_ends, SizeIs(3));
        for (size_t i = 0; i < 3; ++i) {
            EXPECT_LE(run.dispatched(i), run.host_begin(i));
            EXPECT_LE(run.host_begin(i), run.host_end(i));
        }
    }
    EXPECT_GT(*total_time(profile, ProfileSide::host, RunStatistic::median), 0);
}

// Unread times beyond the limit are read before the next run.
TEST(StepClock, KeepsTheLatestRuns) {
    auto context = context_of(in_line(2), shadow_device(0, 2));
    Profile one = profile_of(*context, {.memory = 0}, 5);
    EXPECT_EQ(one.runs_total, 5);
    ASSERT_THAT(one.runs, SizeIs(1));
    EXPECT_THAT(times_of(one.runs[0]), ElementsAre(ms, ms));
    LateRuns late(context->program(), 2);
    std::vector<int64_t> places(size_t(4 * 5), -1);
    for (size_t run = 0; run < 5; ++run) {
        int64_t* place = places.data() + 4 * run;
        late.limit_runs(place);
        EXPECT_EQ(run >= 2, places[0] >= 0) << run;
        late.begin_run(place, 0);
        for (size_t step : {0, 1}) {
            late.before(step, true);
            queue_of(shadow_device(0, 2)).fill(nullptr, 0, 0);
            late.after(step);
        }
    }
    late.read_all();
    for (size_t i = 0; i < places.size(); i += 2) EXPECT_EQ(places[i + 1] - places[i], ms) << i;
}

// x on the host; there, elsewhere, and back.
Graph across(DeviceId one, DeviceId two) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input(f32({3}), "x");
    Tensor y = ops::cumsum(ops::to_device(x, {.device = one}), {.axis = 0});
    Tensor z = ops::cumsum(ops::to_device(y, {.device = two}), {.axis = 0});
    builder.set_outputs({ops::cumsum(ops::to_device(z, {.device = host_device}), {.axis = 0})});
    return builder.take();
}

TEST(StepClock, FollowsTheQueueOfEachStep) {
    DeviceId one = shadow_device(0, 1), two = shadow_device(1, 3);
    auto context = Context::create(
        Program::compile(across(one, two), {.level = 0, .var_sanity_check_first_run = false}));
    for (bool dispatch : {false, true}) {
        Profile profile = profile_of(*context, {.dispatch = dispatch}, 2);
        std::vector<std::string> places;
        for (auto& step : profile.steps) places.push_back(step.device);
        std::string here = physical_name(one), there = physical_name(two);
        ASSERT_THAT(places, ElementsAre(here, here, there, there, there, "cpu0:0"));
        for (auto& run : profile.runs) {
            auto times = times_of(run);
            // The copy waits for the other queue twice, which is work of the shadow's; the first time is not
            // its own.
            EXPECT_THAT(std::vector(times.begin(), times.end() - 1), ElementsAre(ms, ms, 2 * ms, ms, ms));
            EXPECT_GE(times.back(), 0) << "the host's own clock";
        }
        SpanTracks tracks(profile);
        std::vector<std::string> names;
        for (auto& track : tracks.all()) names.push_back(track.name);
        std::vector<std::string> expected{here, there, "cpu0:0"};
        if (dispatch) expected.push_back("cpu0:0 (host)");
        EXPECT_EQ(names, expected);
        each_span_of_run(profile, tracks, 1, [&](int, int step, int track, const ProfileSpan& span) {
            auto& shown = tracks.all()[size_t(track)];
            if (shown.side == ProfileSide::device) {
                EXPECT_EQ(shown.name, places[size_t(step)]);
            }
            EXPECT_LE(span.start, span.end);
        });
    }
}

TEST(StepClock, SumsInnerSteps) {
    auto body = make_subgraph(TensorSpecs{f32({2}), f32({2})}, [](std::span<const Tensor> in) -> Tensors {
        return {ops::mul(ops::cumsum(in[0], {.axis = 0}), in[1])};
    });
    GraphBuilder builder;
    Tensor h = builder.input(f32({2}), "h"), xs = builder.input(f32({3, 2}), "xs");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::scan({h, xs}, {.body = body, .carried = 1, .sliced = 1})[0]});
    auto context = context_of(builder.take(), shadow_device(0, 2));
    Profile profile = profile_of(*context, {}, 4);
    ASSERT_THAT(profile.inner_steps, SizeIs(2));
    for (auto& step : profile.inner_steps) {
        EXPECT_EQ(step.count, 12) << step.path;
        EXPECT_EQ(step.total, 12 * ms) << step.path;
    }
}

TEST(StepClock, ReportsCallsAlike) {
    DeviceId device = shadow_device(0, 2);
    Executable late(in_line(2), {.device = device, .level = 0, .var_sanity_check_first_run = false}),
        at_once(in_line(2), {.level = 0, .var_sanity_check_first_run = false});
    Tensor there = on(device, {1, 2, 3}), here = on(host_device, {1, 2, 3});
    for (bool begins_late : {false, true}) {
        CallProfiler profiler;
        if (begins_late) late.run({&there, 1}, &profiler);
        at_once.run({&here, 1}, &profiler);
        if (!begins_late) late.run({&there, 1}, &profiler);
        Profile profile = profiler.profile();
        ASSERT_THAT(profile.runs, SizeIs(1));
        auto& run = profile.runs[0];
        EXPECT_TRUE(run.is_late);
        ASSERT_THAT(run.host_ends, SizeIs(4));
        auto times = times_of(run);
        size_t first = begins_late ? 0 : 2;
        EXPECT_EQ(times[first], ms);
        EXPECT_EQ(times[first + 1], ms);
        EXPECT_THAT(profile.devices, SizeIs(1));
        EXPECT_TRUE(std::ranges::is_sorted(run.host_ends));
    }
}

TEST(StepClock, IsKeptInFiles) {
    auto context = context_of(in_line(3), shadow_device(0, 2));
    auto folder = new_folder("mge_step_clock");
    std::string path = folder / "profile.json";
    for (bool dispatch : {false, true}) {
        Profile written = profile_of(*context, {.dispatch = dispatch}, 2);
        written.devices[0].peak = Peak{2e12, 1e11, false, "float32"};
        write_profile(path, written);
        Profile read = read_profile(path);
        ASSERT_THAT(read.runs, SizeIs(2));
        for (size_t i = 0; i < 2; ++i) {
            auto &a = written.runs[i], &b = read.runs[i];
            EXPECT_EQ(a.is_late, b.is_late);
            EXPECT_EQ(a.begins, b.begins);
            EXPECT_EQ(a.ends, b.ends);
            EXPECT_EQ(a.host_begins, b.host_begins);
            EXPECT_EQ(a.host_ends, b.host_ends);
        }
        ASSERT_THAT(read.devices, SizeIs(1));
        EXPECT_EQ(read.devices[0].model, "a shadow");
        ASSERT_TRUE(read.roof());
        EXPECT_EQ(read.roof()->operations_per_s, 2e12);
        EXPECT_EQ(read.roof()->arithmetic, "float32");
        EXPECT_EQ(read.steps[1].device, written.steps[1].device);
    }
    std::filesystem::remove_all(folder);
}

TEST(StepClock, TimesOperatorsThatRunAtOnce) {
    DeviceId device = shadow_device(0, 2);
    Tensor x = on(device, {1, 2, 3});
    floats_of(ops::cumsum(x, {.axis = 0}));
    Tensors kept;
    operator_recorder().start();
    {
        HeldQueue held(device);
        for (int i = 0; i < 3; ++i) kept.push_back(ops::cumsum(x, {.axis = 0}));  // would not come back
    }
    auto [operators, blocks] = operator_recorder().stop();
    ASSERT_THAT(operators, SizeIs(3));
    int64_t last = 0;
    for (auto& ran : operators) {
        EXPECT_EQ(ran.device_end - ran.device_begin, ms);
        EXPECT_GE(ran.device_begin, std::max(ran.begin, last));
        last = ran.device_end;
    }
    Tensor here = on(host_device, {1, 2, 3});
    operator_recorder().start();
    ops::cumsum(here, {.axis = 0});
    auto at_once = operator_recorder().stop().operators;
    EXPECT_EQ(at_once.at(0).device_begin, at_once.at(0).begin);
    EXPECT_EQ(at_once.at(0).device_end, at_once.at(0).end);
}

TEST(StepClock, TimesStepsThatAreWaitedFor) {
    auto context = context_of(in_line(3), shadow_device(0, 2));
    EXPECT_THAT(context->time_steps(), ElementsAre(1, 1, 1));
}

class DevicePeak : public testing::Test {
protected:
    std::filesystem::path folder_ = new_folder("mge_device_peaks");
    void SetUp() override { ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
};

std::shared_ptr<const Program> product(DType dtype, DeviceId device) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({dtype, {4, 4}, {}}, "x");
    builder.set_outputs({is_float(dtype) ? ops::matmul(x, x) : ops::mul(x, x)});
    return Program::compile(builder.take(), {.device = device, .var_sanity_check_first_run = false});
}

TEST_F(DevicePeak, UsesTheClockRate) {
    DeviceId device = shadow_device(0, 2);
    auto peak = measure_device_peak(*product(DType::f32, device), {});
    ASSERT_TRUE(peak);
    // One millisecond each; how large the matrices grow is up to the host that multiplies them.
    EXPECT_EQ(peak->bytes_per_s, 2e3 * double(16 << 20));
    double cubed = peak->operations_per_s * 1e-3 / 2;
    EXPECT_GE(cubed, 64.0 * 64 * 64);
    EXPECT_EQ(cubed, std::pow(std::round(std::cbrt(cubed)), 3));
    EXPECT_EQ(peak->arithmetic, "float32");
    EXPECT_EQ(measure_device_peak(*product(DType::f16, device), {})->arithmetic, "float16");
}

TEST_F(DevicePeak, IsUnknownForOtherDtypes) {
    DeviceId device = shadow_device(0, 2);
    EXPECT_FALSE(measure_device_peak(*product(DType::i32, device), {}));
    EXPECT_FALSE(measure_device_peak(*product(DType::f32, host_device), {}));
    auto program = Program::compile(across(shadow_device(0, 1), shadow_device(1, 3)), {.level = 0});
    EXPECT_FALSE(measure_device_peak(*program, {}));
    HiddenClock without(device);
    EXPECT_FALSE(measure_device_peak(*product(DType::f32, device), {}));
}

}  // namespace
}  // namespace mge::test
