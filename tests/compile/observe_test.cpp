// SPDX-License-Identifier: Apache-2.0
// Reports of a program about its steps and values, and the events of a run that an observer receives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

std::vector<std::string> source_ops(const StepReport& step) {
    std::vector<std::string> ops;
    for (auto& source : step.sources) ops.push_back(source.op);
    return ops;
}

std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

// y = relu(x · w + bias), z = exp(y) * y
Graph dense_graph() {
    GraphBuilder builder;
    Tensor x = builder.input(f32({1, 2}), "x");
    InterpreterScope scope(builder);
    std::vector<float> w{1, -1, 2, 1}, b{0, 1};
    Tensor weights = tensor_from_host(f32({2, 2}), w.data()), bias = tensor_from_host(f32({2}), b.data());
    Tensor y = ops::relu(ops::add(ops::matmul(x, weights), bias));
    builder.set_outputs({y, ops::mul(ops::exp(y), y)});
    return builder.take();
}

TEST(Steps, NameTheNodesTheyCompute) {
    auto program = Program::compile(dense_graph(), {});
    ASSERT_EQ(program->steps().size(), 2u);
    EXPECT_THAT(source_ops(program->steps()[0]), ElementsAre("matmul", "add", "relu"));
    EXPECT_THAT(source_ops(program->steps()[1]), ElementsAre("exp", "mul"));
    EXPECT_GE(program->steps()[0].footprint.operations.value_or(0), 8);
    CompileOptions plain;
    plain.level = 0;
    auto unfused = Program::compile(dense_graph(), plain);
    ASSERT_EQ(unfused->steps().size(), 5u);
    for (auto& step : unfused->steps()) EXPECT_THAT(source_ops(step), ElementsAre(step.op));
}

// A node that is computed elsewhere already is a source of the step that does so.
TEST(Steps, KeepSourcesOfMergedNodes) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({4}), "x");
    InterpreterScope scope(builder);
    builder.set_outputs({ops::exp(x), ops::exp(x)});
    auto program = Program::compile(builder.take(), {});
    ASSERT_EQ(program->steps().size(), 1u);
    EXPECT_THAT(source_ops(program->steps()[0]), ElementsAre("exp", "exp"));
}

TEST(Values, ReportTheirDevice) {
    GraphBuilder builder;
    Tensor x = builder.input(f32({2, 3}), "x");
    std::vector<float> w(6, 1);
    InterpreterScope scope(builder);
    Tensor product = ops::matmul(x, tensor_from_host(f32({3, 2}), w.data()));
    builder.set_outputs({ops::sum(product)});
    auto program = Program::compile(builder.take(), {});
    ASSERT_EQ(program->steps().size(), 2u);
    auto& values = program->values();
    auto place = [&](ValueId id) { return values.at(size_t(id)).place; };
    auto& first = program->steps().front();
    EXPECT_EQ(place(first.inputs.at(0)), ValueReport::Place::input);
    EXPECT_EQ(place(first.inputs.at(1)), ValueReport::Place::constant);
    EXPECT_EQ(place(program->steps().back().outputs.at(0)), ValueReport::Place::output);
    auto& inner = values.at(size_t(first.outputs.at(0)));
    EXPECT_EQ(name_of(inner.place), "arena");
    EXPECT_EQ(inner.first, 0);
    EXPECT_EQ(inner.last, 1);
    EXPECT_GE(inner.bytes, inner.spec.bytes());
    EXPECT_LE(inner.offset + inner.bytes, program->memory().plan);
}

struct Recorder : StepObserver {
    std::vector<std::string> events;
    std::vector<float> first_output;
    void before_step(size_t step, Context&) override { events.push_back(text("before ", step)); }
    void after_step(size_t step, Context& context) override {
        events.push_back(text("after ", step));
        if (step == 0) first_output = values_of(context.value(output));
    }
    ValueId output = no_value;
};

TEST(Observer, SeesEachStepAndItsValues) {
    auto program = Program::compile(dense_graph(), {});
    auto context = Context::create(program);
    Recorder recorder;
    recorder.output = program->steps()[0].outputs.at(0);
    float x[] = {1, 2};
    std::memcpy(context->input(0), x, sizeof x);
    context->observe(&recorder);
    context->run();
    EXPECT_THAT(recorder.events, ElementsAre("before 0", "after 0", "before 1", "after 1"));
    EXPECT_THAT(recorder.first_output, ElementsAre(5, 2));
    context->observe(nullptr);
    recorder.events.clear();
    context->run();
    EXPECT_THAT(recorder.events, IsEmpty());
}

TEST(Observer, SeesOneRunOfAnExecutable) {
    Executable executable(dense_graph(), {});
    Recorder recorder;
    recorder.output = executable.program_for({f32({1, 2})})->steps()[0].outputs.at(0);
    auto run = [&](StepObserver* observer, Shape shape) {
        std::vector<float> values(size_t(shape.numel()), 1);
        Tensor x = tensor_from_host(f32(shape), values.data());
        executable.run({&x, 1}, observer);
    };
    run(&recorder, {1, 2});
    EXPECT_THAT(recorder.events, ElementsAre("before 0", "after 0", "before 1", "after 1"));
    recorder.events.clear();
    run(nullptr, {1, 2});
    EXPECT_THAT(recorder.events, IsEmpty());
    run(&recorder, {3, 2});  // another program
    EXPECT_THAT(recorder.events, ElementsAre("before 0", "after 0", "before 1", "after 1"));

    struct Failing : StepObserver {
        void before_run(Context&) override { throw_user("failing", "enough"); }
    } failing;
    EXPECT_THROW(run(&failing, {1, 2}), UserError);
    run(nullptr, {1, 2});  // no observer remains
}

TEST(Observer, EndsARunByThrowing) {
    struct Stopper : StepObserver {
        void before_step(size_t step, Context&) override {
            if (step == 1) throw_user("stopper", "enough");
        }
    } stopper;
    auto context = Context::create(Program::compile(dense_graph(), {}));
    std::memset(context->input(0), 0, 8);
    context->observe(&stopper);
    EXPECT_THROW(context->run(), UserError);
    context->start();
    EXPECT_THROW(context->wait(), UserError);
    context->observe(nullptr);
    context->run();
}

// Logs the events that it receives, with its name.
struct EventRecorder : StepObserver {
    EventRecorder(std::string name, std::vector<std::string>& calls) : name(std::move(name)), calls(calls) {}
    void record(const std::string& what) { calls.push_back(name + ' ' + what); }
    void before_run(Context&) override { record("run"); }
    void after_run(Context&) override { record("end"); }
    void after_failure(const std::exception_ptr& error, Context&) override {
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& e) {
            record(e.what());
        }
    }
    void before_step(size_t step, Context&) override { record(text("before ", step)); }
    void after_step(size_t step, Context&) override { record(text("after ", step)); }
    std::string name;
    std::vector<std::string>& calls;
};

TEST(Observer, SeveralAreNested) {
    auto context = Context::create(Program::compile(dense_graph(), {}));
    std::memset(context->input(0), 0, 8);
    std::vector<std::string> calls;
    EventRecorder a("a", calls), b("b", calls);
    context->attach(a);
    context->attach(b);
    context->run();
    EXPECT_THAT(calls, ElementsAre("a run", "b run", "a before 0", "b before 0", "b after 0", "a after 0",
                                   "a before 1", "b before 1", "b after 1", "a after 1", "b end", "a end"));
    context->detach(a);
    calls.clear();
    context->run();
    EXPECT_THAT(calls, ElementsAre("b run", "b before 0", "b after 0", "b before 1", "b after 1", "b end"));
    context->observe(&a);
    calls.clear();
    context->run();
    EXPECT_EQ(calls.front(), "a run");
    EXPECT_EQ(calls.size(), 6u) << "observe() takes the place of all others";
}

TEST(Observer, SeesTheEndByAnError) {
    auto context = Context::create(Program::compile(dense_graph(), {}));
    std::memset(context->input(0), 0, 8);
    std::vector<std::string> calls;
    EventRecorder recorder("t", calls);
    struct Stopper : StepObserver {
        void after_step(size_t, Context&) override { throw_user("stopper", "enough"); }
    } stopper;
    context->attach(recorder);
    context->attach(stopper);
    EXPECT_THROW(context->run(), UserError);
    EXPECT_THAT(calls, ElementsAre("t run", "t before 0", "t [stopper] enough"));
}

TEST(Observer, AttachedDuringARunSeesTheNext) {
    struct Joining : StepObserver {
        StepObserver* other = nullptr;
        void before_step(size_t step, Context& context) override {
            if (step == 0 && other) context.attach(*std::exchange(other, nullptr));
        }
    } joining;
    std::vector<std::string> calls;
    EventRecorder recorder("t", calls);
    joining.other = &recorder;
    auto context = Context::create(Program::compile(dense_graph(), {}));
    std::memset(context->input(0), 0, 8);
    context->observe(&joining);
    context->run();
    EXPECT_THAT(calls, IsEmpty());
    context->run();
    EXPECT_EQ(calls.size(), 6u);
}

TEST(Observer, SeesAllocations) {
    struct Memory : StepObserver {
        size_t arenas = 0, values = 0;
        void allocated(const Allocation& allocation, Context&) override {
            (allocation.is_arena ? arenas : values) += allocation.bytes;
        }
    };
    auto program = Program::compile(dense_graph(), {});
    auto context = Context::create(program);
    std::memset(context->input(0), 0, 8);
    Memory planned;
    context->observe(&planned);
    context->run();
    EXPECT_GE(planned.arenas, program->memory().plan);
    EXPECT_EQ(planned.values, 0u);
    size_t once = planned.arenas;
    context->run();
    EXPECT_EQ(planned.arenas, once) << "it lies where it lay";

    CompileOptions options;
    options.force_dynamic_alloc = true;
    auto unplanned = Context::create(Program::compile(dense_graph(), options));
    std::memset(unplanned->input(0), 0, 8);
    Memory dynamic;
    unplanned->observe(&dynamic);
    unplanned->run();
    EXPECT_GT(dynamic.values, 0u);
}

TEST(Observer, RefusesValuesThatDoNotExist) {
    auto context = Context::create(Program::compile(dense_graph(), {}));
    EXPECT_THROW(context->value(-1), UserError);
    EXPECT_THROW(context->value(1000), UserError);
}

}  // namespace
}  // namespace mge
