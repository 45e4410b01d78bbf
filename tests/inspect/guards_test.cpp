// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/guards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "libmge/inspect/reproducible.h"
#include "libmge/inspect/value_names.h"
#include "libmge/mge.h"

namespace mge {
namespace {

using testing::HasSubstr;

// y = log(x), z = y * 2: level 0, so that both are steps
struct Sample {
    Sample() {
        GraphBuilder builder;
        Tensor x = builder.input({DType::f32, {2, 2}, {}}, "x");
        {
            InterpreterScope scope(builder);
            Tensor two = builder.symbol(builder.value_of(scalar_tensor(2, DType::f32)));
            builder.set_outputs({ops::mul(ops::log(x), two)});
        }
        CompileOptions options;
        options.level = 0;
        program = Program::compile(name_values(builder.take()), options);
        context = Context::create(program);
        set({1, 2, 3, 4});
    }
    void set(const std::vector<float>& x) {
        std::memcpy(context->input(0), x.data(), x.size() * sizeof(float));
    }
    void run(StepObserver& observer) {
        context->observe(&observer);
        context->run();
        context->observe(nullptr);
    }
    std::shared_ptr<const Program> program;
    std::unique_ptr<Context> context;
};

GuardFinding finding_of(const std::function<void()>& run) {
    try {
        run();
    } catch (const GuardError& e) {
        EXPECT_EQ(e.code(), ErrorCode::accuracy);
        return e.finding();
    }
    ADD_FAILURE() << "nothing was found";
    return {};
}

TEST(ValueGuard, FindsNonFiniteValues) {
    Sample sample;
    ValueGuard guard(sample.program, std::nullopt);
    sample.run(guard);
    sample.set({1, 2, 0, -1});
    GuardFinding f = finding_of([&] { sample.run(guard); });
    EXPECT_EQ(f.guard, "check-finite");
    EXPECT_EQ(f.op, "log");
    EXPECT_EQ(f.output, "log#0");
    EXPECT_EQ(f.step, 0u);
    EXPECT_EQ(f.index, 2);
    EXPECT_EQ(f.value, -INFINITY);
    EXPECT_EQ(GuardError(f).what(), text("[check-finite] output 'log#0' of step 0 (log 'log#0', algorithm ",
                                         f.algorithm, "): element 2 [1, 0] is -inf (not finite)"));
}

TEST(ValueGuard, FindsMagnitudesOutOfRange) {
    Sample sample;
    ValueGuard wide(sample.program, 5.0), narrow(sample.program, 2.5);
    sample.run(wide);
    GuardFinding f = finding_of([&] { sample.run(narrow); });
    EXPECT_EQ(f.op, "input of log") << "inputs count too: 3 is out of range";
    EXPECT_EQ(f.index, 2);
    sample.set({1, 1, 2, 0.05f});
    ValueGuard again(sample.program, 5.0);
    f = finding_of([&] { sample.run(again); });
    EXPECT_EQ(f.op, "mul");
    EXPECT_NEAR(f.value, 2 * std::log(0.05), 1e-5);
}

TEST(RepeatGuard, ComparesOneValuePerInterval) {
    Sample sample;
    // Two values: log and mul. Runs 2, 3 look at the first, runs 4, 5 at the second.
    RepeatGuard guard(sample.program, 2, 0);
    ASSERT_EQ(guard.value_count(), 2u);
    for (int run = 0; run < 3; ++run) sample.run(guard);
    sample.set({1, 2, 3, 5});
    GuardFinding f = finding_of([&] { sample.run(guard); });
    EXPECT_EQ(f.op, "mul");
    EXPECT_EQ(f.index, 3);
    EXPECT_THAT(f.why, HasSubstr("in run 4, in the first it was 2.77"));
    EXPECT_THROW(RepeatGuard(sample.program, 1, 2), UserError);
}

TEST(RepeatGuard, ComparesOnlyAtItsInterval) {
    Sample sample;
    RepeatGuard guard(sample.program, 3, 0);
    sample.run(guard);
    sample.set({1, 2, 3, 5});
    EXPECT_EQ(finding_of([&] { sample.run(guard); }).op, "log");
}

TEST(WriteGuard, AcceptsOperatorsThatWriteAll) {
    Sample sample;
    WriteGuard guard(sample.program);
    for (int run = 0; run < 4; ++run) sample.run(guard);
    EXPECT_NEAR(sample.context->output(0).data<float>()[3], 2 * std::log(4.0), 1e-5)
        << "filling the results changes nothing";
}

// Takes back what a step wrote, as an operator would that skips an element: puts the filling of before the
// step in its place.
class Forgetful final : public StepObserver {
public:
    explicit Forgetful(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
    void before_step(size_t step, Context& context) override {
        if (step == 0) kept_ = value(context)[2];
    }
    void after_step(size_t step, Context& context) override {
        if (step == 0) value(context)[2] = kept_;
    }

private:
    float* value(Context& context) { return context.value(program_->steps()[0].outputs[0]).data<float>(); }
    std::shared_ptr<const Program> program_;
    float kept_ = 0;
};

TEST(WriteGuard, FindsUnwrittenElements) {
    Sample sample;
    WriteGuard guard(sample.program);
    Forgetful forgetful(sample.program);

    // Filled first, then forgotten, then looked at.
    struct Order final : StepObserver {
        WriteGuard& guard;
        Forgetful& forgetful;
        Order(WriteGuard& g, Forgetful& f) : guard(g), forgetful(f) {}
        void before_step(size_t s, Context& c) override {
            guard.before_step(s, c);
            forgetful.before_step(s, c);
        }
        void after_step(size_t s, Context& c) override {
            forgetful.after_step(s, c);
            guard.after_step(s, c);
        }
    } order(guard, forgetful);
    sample.run(order);
    GuardFinding f = finding_of([&] { sample.run(order); });
    EXPECT_EQ(f.guard, "check-dispatch");
    EXPECT_EQ(f.op, "log");
    EXPECT_EQ(f.index, 2);
}

TEST(Reproducible, EqualRuns) {
    Sample sample;
    auto result = check_reproducible(
        sample.program, [](Context& c) { std::fill_n(static_cast<float*>(c.input(0)), 4, 2.0f); }, 3);
    EXPECT_EQ(result.runs, 3);
    EXPECT_EQ(result.steps, 2u);
    EXPECT_EQ(result.values, 2u);
    EXPECT_FALSE(result.difference);
}

TEST(Reproducible, NamesTheFirstStepThatDiffers) {
    Sample sample;
    float next = 1;
    // Inputs that change from run to run stand for an operator that does.
    auto result = check_reproducible(sample.program, [&](Context& c) {
        std::fill_n(static_cast<float*>(c.input(0)), 4, 1.0f);
        static_cast<float*>(c.input(0))[3] = next++;
    });
    ASSERT_TRUE(result.difference);
    EXPECT_EQ(result.difference->step, 0u);
    EXPECT_EQ(result.difference->op, "log");
    EXPECT_EQ(result.difference->index, 3);
    EXPECT_THAT(explain(*result.difference),
                HasSubstr("run 2 differs from the first at step 0 (log 'log#0'"));
}

}  // namespace
}  // namespace mge
