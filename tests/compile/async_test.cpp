// SPDX-License-Identifier: Apache-2.0
// Runs that wait for each other, errors kept for the next wait, and the threads that enqueue work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "libmge/compile/run/async_level.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "libmge/op/define.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/move/to_device.h"
#include "tests/child_alarm.h"
#include "tests/emulator.h"
#include "tests/harness/expect_error.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TensorSpec i32(Shape shape) { return {DType::i32, std::move(shape), {}}; }

std::unique_ptr<Context> context_of(const Graph& graph, CompileOptions options = {}) {
    options.threads = 1;
    options.var_sanity_check_first_run = false;
    return Context::create(Program::compile(graph, options));
}

// y = x + x, counted up slowly.
Graph doubling() {
    return record({f32({4})}, [](const Tensors& x) { return Tensors{ops::add(x[0], x[0])}; });
}

// Fails when the target does not fit.
Graph reshaping() {
    return record({f32({6}), i32({2})},
                  [](const Tensors& x) { return Tensors{ops::reshape(ops::add(x[0], x[0]), x[1])}; });
}
void set_target(Context& context, int32_t rows, int32_t columns) {
    auto* target = static_cast<int32_t*>(context.input(1));
    target[0] = rows;
    target[1] = columns;
}

// An operator of a third party, whose kernel throws arbitrary objects.
struct Throwing {
    static constexpr auto name = "throwing";
    static constexpr auto doc = "Throws.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    struct Params {
        bool throws_number = false;
    };
    static constexpr auto fields = field_list(field<&Params::throws_number>("throws_number", "Not a class."));
    static constexpr bool stops_gradient = true;
    static TensorSpecs infer(const Params&, Specs in) { return {in[0]}; }
    static const OpInfo info;
};
constinit const OpInfo Throwing::info = define<Throwing>();

void run_throwing(const Prepared& prepared, const Launch&) {
    if (prepared.state<ProblemState<Throwing::Params>>().params.throws_number) throw 7;
    throw std::logic_error("nobody expected this");
}
constexpr Algorithm throwing[] = {{"throwing", always, copy_problem<Throwing::Params>, run_throwing}};
constexpr KernelEntry kernels_of_throwing[] = {{&Throwing::info, +[] { return KernelList(throwing); }}};

// Notes whether two runs are ever under way at once.
struct Overlap : StepObserver {
    std::atomic<int> inside{0}, runs{0}, most{0};
    void before_step(size_t, Context&) override {
        most = std::max(most.load(), ++inside);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    void after_step(size_t, Context&) override {
        --inside;
        ++runs;
    }
};

TEST(Runs, ASecondStartWaitsForTheFirst) {
    auto context = context_of(doubling());
    Overlap overlap;
    context->observe(&overlap);
    for (int i = 0; i < 5; ++i) context->start();
    context->wait();
    EXPECT_EQ(overlap.runs, 5);
    EXPECT_EQ(overlap.most, 1);
}

TEST(Runs, RunAndStartAreSerialised) {
    auto context = context_of(doubling());
    Overlap overlap;
    context->observe(&overlap);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 5; ++round) i % 2 ? context->run() : context->start();
        });
    for (auto& thread : threads) thread.join();
    context->wait();
    EXPECT_EQ(overlap.runs, 20);
    EXPECT_EQ(overlap.most, 1);
}

TEST(Runs, NestedRunIsAnError) {
    struct Inner : StepObserver {
        void before_step(size_t, Context& context) override {
            context.wait();  // for nothing: it is this run
            context.run();
        }
    } inner;
    auto context = context_of(doubling());
    context->observe(&inner);
    EXPECT_THAT(error_of([&] { context->run(); }), HasSubstr("inside of one of its runs"));
    context->start();
    EXPECT_THAT(error_of([&] { context->wait(); }), HasSubstr("inside of one of its runs"));
    context->observe(nullptr);
    context->run();
}

TEST(Runs, AnErrorNamesOperatorNodeAndGraph) {
    Graph graph = reshaping();
    graph.node(1).name = "folded";
    auto context = context_of(graph);
    set_target(*context, 5, 5);
    std::string where = text("graph ", context->program().id(), ", reshape 'folded': [reshape] ");
    EXPECT_THAT(error_of([&] { context->run(); }), HasSubstr(where));
    context->start();
    EXPECT_THAT(error_of([&] { context->wait(); }), HasSubstr(where));
    context->wait();  // thrown only once
    set_target(*context, 2, 3);
    context->start();
    context->wait();
    EXPECT_EQ(context->output(0).shape(), (Shape{2, 3}));
}

TEST(Runs, AnyExceptionOfAKernelNamesOperatorNodeAndGraph) {
    add_kernels(host_device.kind, kernels_of_throwing);
    for (bool throws_number : {false, true}) {
        Throwing::Params params{throws_number};
        Graph graph = record({f32({4})}, [&](const Tensors& x) {
            return Tensors{apply_one(Throwing::info, &params, {x.data(), 1})};
        });
        graph.node(0).name = "odd";
        auto context = context_of(graph);
        std::string text =
            mge::text("graph ", context->program().id(), ", throwing 'odd': ",
                      throws_number ? "an exception that is not a std::exception" : "nobody expected this");
        EXPECT_EQ(error_of<Error>([&] { context->run(); }), text);
        context->start();
        EXPECT_EQ(error_of<Error>([&] { context->wait(); }), text);
        Tensor x = empty_tensor({DType::f32, {4}, {}}, host_device);
        EXPECT_THAT(error_of<Error>([&] {
                        apply_one(Throwing::info, &params, {&x, 1});
                    }),
                    testing::StartsWith("throwing: "));
    }
}

TEST(Runs, NextRunReportsUnreadErrors) {
    auto context = context_of(reshaping());
    set_target(*context, 5, 5);
    context->start();
    EXPECT_THROW(context->start(), UserError);
    set_target(*context, 2, 3);
    context->start();
    context->wait();
    EXPECT_EQ(context->output(0).shape(), (Shape{2, 3}));
}

TEST(Runs, ErrorsOfTwoGraphsDoNotMix) {
    auto good = context_of(doubling()), bad = context_of(reshaping());
    set_target(*bad, 5, 5);
    bad->start();
    good->start();
    good->wait();
    EXPECT_THROW(bad->wait(), UserError);
    EXPECT_LT(good->program().id(), bad->program().id());
}

TEST(Runs, ExternalErrorIsThrownByWait) {
    auto context = context_of(doubling());
    std::thread([&] {
        context->record_async_error(std::make_exception_ptr(DeviceError("the cable is loose")));
    }).join();
    EXPECT_EQ(error_of<DeviceError>([&] { context->wait(); }),
              text("graph ", context->program().id(), ": the cable is loose"));
    context->run();
    context->wait();
}

TEST(Runs, ChildStartsRunsOfItsParent) {
    if (runs_in_qemu()) GTEST_SKIP() << qemu_forks;
    auto context = context_of(doubling());
    auto* x = static_cast<float*>(context->input(0));
    x[0] = 2;
    context->start();
    context->wait();
    pid_t child = fork();
    if (child == 0) {
        alarm(child_seconds);
        x[0] = 3;
        context->start();
        context->wait();
        _exit(context->output(0).data<float>()[0] == 6 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    context->run();
    EXPECT_EQ(context->output(0).data<float>()[0], 4);
}

TEST(Runs, ExternalErrorMustNotBeNull) {
    auto context = context_of(doubling());
    EXPECT_THAT(error_of([&] { context->record_async_error(nullptr); }), HasSubstr("null pointer"));
    context->wait();
}

TEST(Runs, UnreadErrorIsDropped) {
    auto context = context_of(reshaping());
    set_target(*context, 5, 5);
    context->start();
}

// The matrix of MegEngine: places to threads.
TEST(AsyncLevel, SelectsEnqueuingThreads) {
    auto place = [](uint8_t kind, uint8_t index) {
        DeviceId id;
        id.kind = kind;
        id.index = index;
        return id;
    };
    DeviceId g0 = place(9, 0), g1 = place(9, 1), c0 = place(0, 0), c1 = place(0, 1);
    auto threads = [](int level, std::vector<DeviceId> places) { return threads_of_places(places, level); };
    EXPECT_THAT(threads(0, {g0, g1, c0, c1}), ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(threads(1, {g0, g1, c0, c1}), ElementsAre(1, 2, 3, 3));
    EXPECT_THAT(threads(1, {c0, c1}), ElementsAre(0, 0));
    EXPECT_THAT(threads(1, {g0}), ElementsAre(0));
    EXPECT_THAT(threads(1, {g0, g1}), ElementsAre(1, 2));
    EXPECT_THAT(threads(2, {c0, c1}), ElementsAre(1, 2));
    EXPECT_THAT(threads(2, {g0, g1, c0, c1}), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(threads(2, {c0}), ElementsAre(0));
    EXPECT_THAT(threads(4, {g0}), ElementsAre(1));
    EXPECT_THAT(threads(4, {c0}), ElementsAre(1));
    EXPECT_THAT(threads(4, {c0, c1}), ElementsAre(1, 1));
    EXPECT_THAT(threads(6, {c0, c1}), ElementsAre(1, 2));
    EXPECT_THAT(threads(6, {g0, g1, c0, c1}), ElementsAre(1, 2, 3, 4));
}

TEST(AsyncLevel, IsBetweenZeroAndSeven) {
    EXPECT_THAT(error_of([] { context_of(doubling(), {.async_exec_level = 8}); }),
                HasSubstr("[async_exec_level] 8 is not between 0 and 7"));
    EXPECT_THROW(context_of(doubling(), {.async_exec_level = -1}), UserError);
}

// x on cpu0 and cpu1, there and back again.
Graph two_cpus() {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    DeviceId second = parse_device("cpu1");
    Tensor x = builder.input(f32({4}), "x");
    Tensor y = x;
    for (int i = 0; i < 10; ++i) {
        Tensor there = ops::to_device(ops::add(y, x), {.device = second});
        there = ops::mul(there, there);
        y = ops::sub(ops::to_device(there, {.device = {}}), ops::mul(y, y));
    }
    builder.set_outputs({y});
    return builder.take();
}

std::vector<float> run_two_cpus(int level, std::set<int>& threads) {
    CompileOptions options{.level = 0, .async_exec_level = level};
    auto context = context_of(two_cpus(), options);
    for (auto& step : context->program().steps()) threads.insert(step.thread);
    auto* x = static_cast<float*>(context->input(0));
    for (int i = 0; i < 4; ++i) x[i] = float(i) / 8;
    for (int round = 0; round < 20; ++round) {
        context->run();
        if (round % 3 == 0) context->wait();  // else the next run does
    }
    context->wait();
    Tensor y = context->copy_output(0);
    return {y.data<float>(), y.data<float>() + 4};
}

TEST(AsyncLevel, GivesEqualResults) {
    std::set<int> in_caller, on_one, on_two;
    auto expected = run_two_cpus(1, in_caller);
    EXPECT_THAT(in_caller, ElementsAre(0));
    EXPECT_EQ(run_two_cpus(4, on_one), expected);
    EXPECT_THAT(on_one, ElementsAre(1));
    EXPECT_EQ(run_two_cpus(2, on_two), expected);
    EXPECT_THAT(on_two, ElementsAre(1, 2));
}

TEST(AsyncLevel, ErrorOfAThreadIsThrownByWait) {
    for (int level : {4, 6}) {
        auto context = context_of(reshaping(), {.async_exec_level = level});
        EXPECT_EQ(context->program().steps()[0].thread, 1);
        set_target(*context, 5, 5);
        context->run();
        EXPECT_THAT(error_of([&] { context->wait(); }), HasSubstr("reshape"));
        set_target(*context, 3, 2);
        context->run();
        context->wait();
        EXPECT_EQ(context->output(0).shape(), (Shape{3, 2}));
        context->start();
        context->wait();
    }
}

// One thread fails: the other one comes to its end, too.
TEST(AsyncLevel, AnErrorEndsAllThreads) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    DeviceId second = parse_device("cpu1");
    Tensor x = builder.input(f32({6}), "x"), target = builder.input(i32({2}), "target");
    Tensor y = ops::reshape(ops::add(x, x), target);
    Tensor there = ops::to_device(y, {.device = second});
    builder.set_outputs({ops::to_device(ops::mul(there, there), {.device = {}})});
    auto context = context_of(builder.take(), {.async_exec_level = 2});
    for (int round = 0; round < 10; ++round) {
        set_target(*context, 4, 4);
        context->run();
        EXPECT_THROW(context->wait(), UserError);
        set_target(*context, 2, 3);
        context->run();
        context->wait();
        EXPECT_EQ(context->output(0).shape(), (Shape{2, 3}));
    }
}

TEST(AsyncLevel, IsReportedWithoutEffect) {
    testing::internal::CaptureStderr();
    auto program = Program::compile(doubling(), {.async_exec_level = 2, .comp_seq_sync_device = false});
    testing::internal::GetCapturedStderr();
    std::set<std::string> options;
    for (auto& ignored : program->options_without_effect()) options.insert(ignored.option);
    EXPECT_THAT(options, ElementsAre("async_exec_level", "comp_seq_sync_device"));
}

TEST(AsyncLevel, AnExecutableWaitsForItsThreads) {
    Executable executable(two_cpus(), {.async_exec_level = 2});
    Tensor x = constant({4}, {1, 2, 3, 4});
    Executable plain(two_cpus(), {});
    for (int i = 0; i < 5; ++i) {
        Tensor a = executable.run(Tensors{x})[0], b = plain.run(Tensors{x})[0];
        EXPECT_EQ(std::memcmp(a.data(), b.data(), 16), 0);
    }
}

}  // namespace
}  // namespace mge::test
