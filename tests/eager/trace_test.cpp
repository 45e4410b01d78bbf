// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor vector_of(std::vector<float> values) {
    return tensor_from_host({DType::f32, {int64_t(values.size())}, {}}, values.data());
}
std::vector<float> values_of(const Tensor& t) {
    return {t.data<float>(), t.data<float>() + t.spec().numel()};
}

using Function = std::function<Tensor(const Tensor&)>;

Tensor call(Trace& trace, const Function& function, const Tensor& x) {
    trace.begin({&x, 1});
    Tensor y;
    try {
        y = function(x);
    } catch (...) {
        trace.abort();
        throw;
    }
    trace.end({&y, 1});
    return y;
}

class TraceModes : public testing::TestWithParam<bool> {
protected:
    Trace trace_{TraceOptions{.symbolic = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Symbolic, TraceModes, testing::Bool());

TEST_P(TraceModes, ComputesOnDemandAndAtTheEnd) {
    for (float value : {1.0F, 2.0F, 3.0F}) {
        Tensor kept;
        Tensor y = call(
            trace_,
            [&](const Tensor& x) {
                Tensor a = ops::add(x, x);
                EXPECT_EQ(a.data(), nullptr);
                Trace::compute(a);
                EXPECT_THAT(values_of(a), ElementsAre(2 * value));
                kept = ops::mul(a, a);
                return ops::neg(kept);
            },
            vector_of({value}));
        EXPECT_THAT(values_of(kept), ElementsAre(4 * value * value));
        EXPECT_THAT(values_of(y), ElementsAre(-4 * value * value));
    }
}

// A step of training: the next value of a parameter reuses its memory, unless the old value is held.
TEST(Trace, WritesAParameterInPlace) {
    Trace trace({.symbolic = true});
    Tensor parameter = vector_of({1, 2, 3}), one = vector_of({1, 1, 1});
    auto step = [&] {
        call(
            trace,
            [&](const Tensor& x) {
                parameter = ops::add(parameter, x);
                return ops::mul(parameter, x);
            },
            one);
    };
    step();
    step();
    const void* address = parameter.data();
    step();
    EXPECT_EQ(parameter.data(), address);
    EXPECT_THAT(values_of(parameter), ElementsAre(4, 5, 6));
    Tensor same = parameter, other = parameter.alias();
    step();
    EXPECT_THAT(values_of(parameter), ElementsAre(5, 6, 7));
    EXPECT_THAT(values_of(same), ElementsAre(4, 5, 6));
    same = {};
    step();
    EXPECT_THAT(values_of(parameter), ElementsAre(6, 7, 8));
    EXPECT_THAT(values_of(other), ElementsAre(4, 5, 6));
    EXPECT_THAT(values_of(one), ElementsAre(1, 1, 1));
}

TEST(Trace, ReadsAParameterBeforeItIsWrittenOver) {
    Trace trace({.symbolic = true});
    Tensor parameter = vector_of({1, 2});
    for (float begin : {1.0F, 2.0F, 3.0F}) {
        Tensor y = call(
            trace,
            [&](const Tensor& x) {
                Tensor last = std::exchange(parameter, ops::add(parameter, x));
                return ops::matmul(ops::mul(last, last), x);
            },
            vector_of({1, 1}));
        EXPECT_THAT(values_of(y), ElementsAre(begin * begin + (begin + 1) * (begin + 1)));
        EXPECT_THAT(values_of(parameter), ElementsAre(begin + 1, begin + 2));
    }
}

TEST_P(TraceModes, FollowsAliases) {
    for (float value : {1.0F, 2.0F}) {
        Tensor y = call(
            trace_,
            [&](const Tensor& x) {
                Tensor other = current_interpreter().alias(ops::neg(x));
                return ops::add(current_interpreter().alias(x), other);
            },
            vector_of({value, 5}));
        EXPECT_THAT(values_of(y), ElementsAre(0, 0));
    }
}

TEST_P(TraceModes, NamesTheDifference) {
    bool other = false;
    Function function = [&](const Tensor& x) { return other ? ops::exp(x) : ops::neg(x); };
    call(trace_, function, vector_of({1}));
    other = true;
    try {
        call(trace_, function, vector_of({1}));
        FAIL();
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("trace error because operator mismatch: exp instead of neg"));
    }
    other = false;
    EXPECT_THAT(values_of(call(trace_, function, vector_of({4}))), ElementsAre(-4));
}

TEST_P(TraceModes, MarksValuesThatAnErrorLost) {
    Tensor kept;
    Function function = [&](const Tensor& x) {
        // The kernel's work fails: an index out of range shows only when it runs.
        int32_t index[] = {7};
        Tensor far = tensor_from_host({DType::i32, {1}, {}}, index);
        kept = ops::take({x, far}, {.axes = {0}});
        return kept;
    };
    EXPECT_THROW(call(trace_, function, vector_of({1, 2})), Error);
    ASSERT_TRUE(kept);
    EXPECT_THROW(Trace::compute(kept), UserError);
}

TEST_P(TraceModes, ReportsStepsOfACompiledCall) {
    struct Recorder : StepObserver {
        std::vector<std::string> steps;
        void after_step(size_t step, Context& context) override {
            steps.push_back(context.program().steps()[step].op);
        }
    };
    Function function = [](const Tensor& x) {
        Tensor a = ops::exp(x);
        Trace::compute(a);
        return ops::neg(a);
    };
    auto observed = [&](std::shared_ptr<StepObserver> observer) {
        Tensor x = vector_of({1});
        trace_.begin({&x, 1}, std::move(observer));
        Tensor y = function(x);
        trace_.end({&y, 1});
    };
    std::weak_ptr<StepObserver> left;
    {
        auto first = std::make_shared<Recorder>(), second = std::make_shared<Recorder>();
        left = first;
        observed(first);
        EXPECT_EQ(first->steps.size(), GetParam() ? 2U : 0U) << "a recording is compiled if it is symbolic";
        observed(second);
        EXPECT_THAT(second->steps, ElementsAre("exp", "neg"));
        call(trace_, function, vector_of({2}));
        EXPECT_THAT(second->steps, ElementsAre("exp", "neg")) << "it is told of one call";
    }
    EXPECT_TRUE(left.expired());
}

TEST(Trace, ReturnsTheWholeGraph) {
    Trace trace(TraceOptions{.capture_as_const = true});
    Tensor factor = vector_of({2, 3});
    call(
        trace, [&](const Tensor& x) { return ops::mul(x, factor); }, vector_of({1, 1}));
    Graph graph = trace.graph();
    verify(graph);
    ASSERT_EQ(graph.inputs().size(), 1U);
    Tensor x = vector_of({5, 6});
    EXPECT_THAT(values_of(Executable(graph, {}).run({&x, 1})[0]), ElementsAre(10, 18));
}

TEST(Trace, ChecksKeptValuesInItsGraph) {
    Trace trace(TraceOptions{.capture_as_const = true});
    call(
        trace,
        [](const Tensor& x) {
            for (int i = 0; i < 2; ++i) Trace::keep_value(ops::shape_of(x, {.axis = 0}), "the size is fixed");
            Trace::keep_value(x, "shapes do not determine it");
            return ops::neg(x);
        },
        vector_of({1, 1}));
    Tensor same = vector_of({5, 6}), longer = vector_of({5, 6, 7});
    Executable unchecked(trace.graph(), {}), checked(trace.graph({}, true), {});
    EXPECT_THAT(values_of(unchecked.run({&longer, 1})[0]), ElementsAre(-5, -6, -7));
    EXPECT_THAT(values_of(checked.run({&same, 1})[0]), ElementsAre(-5, -6));
    try {
        checked.run({&longer, 1});
        ADD_FAILURE() << "another size";
    } catch (const UserError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the size is fixed, got 3"));
    }
}

TEST(Trace, ForgetsKeptValuesOfACallThatFailed) {
    Trace trace(TraceOptions{.capture_as_const = true});
    auto failing = [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 6; ++i) y = ops::exp(y);
        Trace::keep_value(ops::shape_of(y, {.axis = 0}), "the size is fixed");
        throw UserError("no result");
        return y;
    };
    EXPECT_THROW(call(trace, failing, vector_of({1, 1})), UserError);
    call(
        trace, [](const Tensor& x) { return ops::neg(x); }, vector_of({1, 1}));
    Executable checked(trace.graph({}, true), {});
    Tensor longer = vector_of({5, 6, 7});
    EXPECT_THAT(values_of(checked.run({&longer, 1})[0]), ElementsAre(-5, -6, -7));
}

TEST(Trace, ChecksKeptLengthsThatDependOnTheArguments) {
    Trace trace(TraceOptions{.capture_as_const = true});
    call(
        trace,
        [](const Tensor& x) {
            Trace::keep_length(x, "the length is fixed");
            Trace::keep_length(ops::reshape(x, {.shape = {2, -1}}), "always two rows");
            return ops::neg(x);
        },
        vector_of({1, 1}));
    EXPECT_THAT(trace.open_lengths(), ElementsAre("the length is fixed"));
    Tensor same = vector_of({5, 6}), longer = vector_of({5, 6, 7, 8});
    Executable checked(trace.graph({}, true), {});
    EXPECT_THAT(values_of(checked.run({&same, 1})[0]), ElementsAre(-5, -6));
    try {
        checked.run({&longer, 1});
        ADD_FAILURE() << "another length";
    } catch (const UserError& error) {
        EXPECT_THAT(error.what(), HasSubstr("the length is fixed, got 4"));
    }
}

TEST(Trace, RefusesAGraphWithUnknownTensors) {
    Trace trace{TraceOptions{}};
    EXPECT_THROW(trace.graph(), UserError);
    Tensor factor = vector_of({2});
    call(
        trace, [&](const Tensor& x) { return ops::mul(x, factor); }, vector_of({1}));
    EXPECT_THROW(trace.graph(), UserError);
}

}  // namespace
}  // namespace mge
