// SPDX-License-Identifier: Apache-2.0
// Operators that do what they may not: the first run of a program finds them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstring>

#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::HasSubstr;

// Faults that the operators of this backend have on request.
bool relu_writes_its_input = false, exp_writes_later = false;
int64_t relu_writes_at = 1;
float* result_of_exp = nullptr;
int runs_of_relu = 0, relu_writes_from = INT_MAX;

Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}

template <class Fn>
void map(const Prepared& prepared, const Launch& launch, Fn fn) {
    for (int64_t i = 0; i < prepared.state<int64_t>(); ++i) launch.out<float>(0)[i] = fn(i);
}

void run_relu(const Prepared& prepared, const Launch& launch) {
    ++runs_of_relu;
    auto* x = launch.in<float>(0);
    map(prepared, launch, [&](int64_t i) { return std::max(x[i], 0.0f); });
    bool writes = relu_writes_its_input || runs_of_relu > relu_writes_from;
    if (writes && x != launch.out<float>(0)) const_cast<float*>(x)[relu_writes_at] += 1;
}

void run_exp(const Prepared& prepared, const Launch& launch) {
    auto* x = launch.in<float>(0);
    map(prepared, launch, [&](int64_t i) { return x[i] * 2; });
    result_of_exp = launch.out<float>(0);
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto *x = launch.in<float>(0), *y = launch.in<float>(1);
    map(prepared, launch, [&](int64_t i) { return x[i] + y[i]; });
    // A thread of exp, as it were, that is not done yet.
    if (exp_writes_later) result_of_exp[0] = 77;
}

constexpr Algorithm relu_list[] = {{"bold_relu", always, prepare_count, run_relu}};
constexpr Algorithm exp_list[] = {{"late_exp", always, prepare_count, run_exp}};
constexpr Algorithm add_list[] = {{"plain_add", always, prepare_count, run_add}};
constexpr KernelEntry table[] = {{&ops::Relu::info, +[] { return KernelList(relu_list); }},
                                 {&ops::Exp::info, +[] { return KernelList(exp_list); }},
                                 {&ops::Add::info, +[] { return KernelList(add_list); }}};

class FirstRun : public ::testing::Test {
protected:
    FirstRun() {
        static const uint8_t kind = add_backend(
            {backend_abi, "unruly", table, 1, +[](int) -> Device& { return device(DeviceId{}); }});
        DeviceId id;
        id.kind = kind;
        set_default_device(id);
        relu_writes_its_input = exp_writes_later = false;
        runs_of_relu = 0;
        relu_writes_at = 1;
        relu_writes_from = INT_MAX;
    }
    ~FirstRun() override { set_default_device(DeviceId{}); }

    // Step 0: exp, 1: add of something else, 2: relu, 3: add of both results.
    std::unique_ptr<Context> make(bool checks) {
        Graph graph = record({f32({4}), f32({4})}, [](const Tensors& x) {
            Tensor a = ops::exp(x[0]);
            Tensor b = ops::add(x[0], x[1]);
            Tensor c = ops::relu(a);
            return Tensors{ops::add(c, a), b};
        });
        for (size_t i = 0; i < graph.values().size(); ++i)
            if (graph.value(ValueId(i)).name.empty()) graph.value(ValueId(i)).name = text("v", i);
        CompileOptions o;
        o.device = default_device();
        o.level = 0;
        o.threads = 1;
        o.var_sanity_check_first_run = checks;
        return Context::create(Program::compile(graph, o));
    }
    static std::string error_of(Context& context) {
        try {
            context.run();
        } catch (const InternalError& e) {
            return e.what();
        }
        return "no error";
    }
};

TEST_F(FirstRun, NamesTheOperatorThatWritesToItsInput) {
    relu_writes_its_input = true;
    auto context = make(true);
    std::string error = error_of(*context);
    EXPECT_THAT(error, HasSubstr("the value 'v2' of step 0 (exp"));
    EXPECT_THAT(error, HasSubstr("has changed after step 2 (relu"));
    EXPECT_THAT(error, HasSubstr("bold_relu"));
}

TEST_F(FirstRun, NamesTheReaderOfAValueWrittenTooLate) {
    exp_writes_later = true;
    auto context = make(true);
    std::string error = error_of(*context);
    EXPECT_THAT(error, HasSubstr("of step 0 (exp"));
    EXPECT_THAT(error, HasSubstr("has changed before step 2 (relu"));
}

TEST_F(FirstRun, SeesGraphInputs) {
    relu_writes_its_input = true;
    Graph graph = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::relu(x[0])}; });
    auto context =
        Context::create(Program::compile(graph, {.device = default_device(), .level = 0, .threads = 1}));
    EXPECT_THAT(error_of(*context), HasSubstr("the value 'x0' has changed after step 0 (relu"));
}

TEST_F(FirstRun, ThreadsShareLargeValues) {
    constexpr int64_t large = 300001;  // a bit more than a MiB
    Graph graph = record({f32({large})}, [](const Tensors& x) { return Tensors{ops::relu(x[0])}; });
    auto program = [&] {
        return Program::compile(graph, {.device = default_device(), .level = 0, .threads = 2});
    };
    EXPECT_EQ(error_of(*Context::create(program())), "no error");
    relu_writes_its_input = true;
    for (int64_t at : {int64_t(0), large / 2, large - 1}) {
        relu_writes_at = at;
        EXPECT_THAT(error_of(*Context::create(program())), HasSubstr("the value 'x0' has changed")) << at;
    }
}

TEST_F(FirstRun, EntersLoops) {
    auto body = make_subgraph(TensorSpecs{f32({4})},
                              [](std::span<const Tensor> in) -> Tensors { return {ops::relu(in[0])}; });
    Graph graph = record({f32({4})}, [&](const Tensors& x) {
        return ops::scan({x[0]}, {.body = body, .carried = 1, .length = 3});
    });
    graph.node(0).name = "loop";
    auto program = Program::compile(graph, {.device = default_device(), .level = 0, .threads = 1});
    relu_writes_from = 1;
    std::string error = error_of(*Context::create(program));
    EXPECT_THAT(error, HasSubstr("the value 'loop/body[1]/"));
    EXPECT_THAT(error, HasSubstr("has changed after step 0 (relu 'loop/body[1]/"));
    EXPECT_THAT(error, HasSubstr("bold_relu"));
    EXPECT_EQ(error_of(*Context::create(program)), "no error") << "a later run";
}

TEST_F(FirstRun, IsOffByDefault) {
    relu_writes_its_input = exp_writes_later = true;
    EXPECT_EQ(error_of(*make(false)), "no error");
}

TEST_F(FirstRun, OnlyTheFirstRunOfAProgramChecks) {
    auto context = make(true);
    EXPECT_EQ(error_of(*context), "no error");
    relu_writes_its_input = true;
    EXPECT_EQ(error_of(*context), "no error");
    EXPECT_EQ(runs_of_relu, 2);
}

TEST_F(FirstRun, UserObserverIsCalledToo) {
    struct Count : StepObserver {
        void before_step(size_t, Context&) override { ++before; }
        void after_step(size_t, Context&) override { ++after; }
        int before = 0, after = 0;
    } count;
    auto context = make(true);
    context->observe(&count);
    context->run();
    context->run();
    EXPECT_EQ(count.before, 8);
    EXPECT_EQ(count.after, 8);
}

TEST_F(FirstRun, AcceptsInPlaceSteps) {
    // Each result takes over its input's memory.
    Graph graph = record(
        {f32({4})}, [](const Tensors& x) { return Tensors{ops::relu(ops::exp(ops::relu(ops::exp(x[0]))))}; });
    auto program = Program::compile(graph, {.device = default_device(), .level = 0, .threads = 1});
    EXPECT_EQ(error_of(*Context::create(program)), "no error");
}

}  // namespace
}  // namespace mge::test
