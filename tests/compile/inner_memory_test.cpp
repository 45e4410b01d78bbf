// SPDX-License-Identifier: Apache-2.0
// Values of nested graphs are in the arena of the enclosing program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "libmge/device/default_device.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr size_t mebibyte = 1 << 20;
const Shape large{256, 1024};  // 1 MiB of float32
const TensorSpec operand = {DType::f32, large, {}};

CompileOptions plain() {
    CompileOptions o;
    o.threads = 1;
    o.var_sanity_check_first_run = false;
    return o;
}

// n sums of sums, which no pass can make one step of: two of them are alive at a time.
Tensor sums(Tensor x, int n) {
    Tensor scale = ops::full({.shape = {1}, .value = 1.0 / 64});
    for (int i = 0; i < n; ++i) x = ops::cumsum(ops::mul(x, scale), {.axis = 1});
    return x;
}
SubgraphRef sums_graph(int n) {
    return make_subgraph(TensorSpecs{operand},
                         [&](std::span<const Tensor> in) -> Tensors { return {sums(in[0], n)}; });
}
Tensor scan_sums(const Tensor& x, int n = 4, int64_t steps = 2) {
    return ops::scan({x}, {.body = sums_graph(n), .carried = 1, .length = steps})[0];
}

Graph one_scan() {
    return record({operand}, [](const Tensors& x) { return Tensors{ops::sum(scan_sums(x[0]))}; });
}

std::shared_ptr<const Program> compile(const Graph& graph) { return Program::compile(graph, plain()); }

void fill(Context& context, size_t input, float value) {
    auto& spec = context.program().inputs()[input].spec;
    std::fill_n(static_cast<float*>(context.input(input)), spec.numel(), value);
}
std::unique_ptr<Context> context_with(const std::shared_ptr<const Program>& program, float value,
                                      const std::shared_ptr<ContextMemory>& memory = nullptr) {
    auto context = Context::create(program, memory);
    fill(*context, 0, value);
    return context;
}
float run(Context& context) {
    context.run();
    return context.output(0).data<float>()[0];
}
// One operator at a time, without any program around it.
float expected(float value) {
    Tensor x = ops::full({.shape = {256, 1024}, .value = value});
    for (int i = 0; i < 2; ++i) x = sums(x, 4);
    return ops::sum(x).data<float>()[0];
}
size_t allocated() { return device(host_device).memory().allocated; }

size_t workspace_of(const Program& program, std::string_view op) {
    for (auto& step : program.steps())
        if (step.op == op) return step.workspace;
    return 0;
}

TEST(InnerMemory, IsAPartOfTheOuterPlan) {
    auto program = compile(one_scan());
    EXPECT_GE(workspace_of(*program, "scan"), 2 * mebibyte) << "what is carried, and a value of the body";
    EXPECT_GE(program->memory().plan, workspace_of(*program, "scan") + mebibyte);
    auto context = context_with(program, .5f);
    size_t before = allocated();
    float first = run(*context);
    EXPECT_LT(allocated() - before, mebibyte / 8) << "the run takes nothing beside the plan";
    EXPECT_FLOAT_EQ(first, expected(.5f));
    EXPECT_EQ(run(*context), first);
}

// Memory of a product with constant weights, alone and as the body of a loop.
TEST(InnerMemory, WeightsAndCodeInsideAreCounted) {
    Tensor w = ops::full({.shape = {1024, 1024}, .value = 1.0 / 1024});
    auto outside =
        compile(record({operand}, [&](const Tensors& x) { return Tensors{ops::matmul(x[0], w)}; }))->memory();
    auto body = make_subgraph(TensorSpecs{operand},
                              [&](std::span<const Tensor> in) -> Tensors { return {ops::matmul(in[0], w)}; });
    auto with_operand =
        make_subgraph(TensorSpecs{operand, w.spec()},
                      [&](std::span<const Tensor> in) -> Tensors { return {ops::matmul(in[0], in[1])}; });
    auto loop = [&](const SubgraphRef& graph, bool is_operand) {
        return compile(record({operand}, [&](const Tensors& x) {
            Tensors inputs{x[0]};
            if (is_operand) inputs.push_back(w);
            return Tensors{ops::scan(inputs, {.body = graph, .carried = 1, .length = 2})[0]};
        }));
    };
    EXPECT_EQ(outside.weights + outside.released_weights, 4 * mebibyte);
    EXPECT_GE(outside.weights + outside.packed_weights, 4 * mebibyte);
    for (bool is_operand : {false, true}) {
        auto memory = loop(is_operand ? with_operand : body, is_operand)->memory();
        EXPECT_EQ(memory.weights, outside.weights) << is_operand;
        EXPECT_EQ(memory.released_weights, outside.released_weights) << is_operand;
        EXPECT_EQ(memory.packed_weights, outside.packed_weights) << is_operand;
        EXPECT_EQ(memory.made_weights, outside.made_weights) << is_operand;
        EXPECT_GT(memory.program, outside.program) << is_operand;
    }
}

TEST(InnerMemory, IsSharedByLoopsThatFollowEachOther) {
    auto two = compile(
        record({operand}, [](const Tensors& x) { return Tensors{ops::sum(scan_sums(scan_sums(x[0])))}; }));
    auto one = compile(one_scan());
    EXPECT_EQ(two->steps().size(), one->steps().size() + 1);
    EXPECT_LE(two->memory().plan, one->memory().plan + mebibyte) << "the value between them";
}

TEST(InnerMemory, IsSizedForTheLargerBranch) {
    auto with = [](int n, int m) {
        return compile(record({{DType::f32, {1}, {}}, operand}, [&](const Tensors& in) {
            return ops::cond({in[0], in[1]}, {sums_graph(n), sums_graph(m)});
        }));
    };
    size_t large_one = workspace_of(*with(4, 1), "cond");
    EXPECT_GE(large_one, mebibyte);
    EXPECT_EQ(workspace_of(*with(4, 4), "cond"), large_one);
    auto program = with(4, 2);
    auto context = Context::create(program);
    fill(*context, 1, 1);
    for (float flag : {1.f, 0.f, 1.f}) {
        fill(*context, 0, flag);
        Tensor x = ops::full({.shape = {256, 1024}, .value = 1});
        EXPECT_FLOAT_EQ(run(*context), sums(x, flag != 0 ? 4 : 2).data<float>()[0]);
    }
}

TEST(InnerMemory, ContainsNestedLoops) {
    Graph graph = record({operand}, [](const Tensors& x) {
        auto body = make_subgraph(TensorSpecs{operand}, [](std::span<const Tensor> in) -> Tensors {
            return {sums(scan_sums(in[0], 2, 1), 2)};
        });
        return Tensors{ops::sum(ops::scan({x[0]}, {.body = body, .carried = 1, .length = 2})[0])};
    });
    auto program = compile(graph);
    auto context = context_with(program, .5f);
    size_t before = allocated();
    EXPECT_FLOAT_EQ(run(*context), expected(.5f));
    EXPECT_LT(allocated() - before, mebibyte / 8);
}

TEST(InnerMemory, ContextsOfOneProgramHaveSeparateMemory) {
    auto program = compile(one_scan());
    auto a = context_with(program, .5f), b = context_with(program, .25f);
    float of_a = expected(.5f), of_b = expected(.25f);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FLOAT_EQ(run(*a), of_a);
        EXPECT_FLOAT_EQ(run(*b), of_b);
    }
    auto many = [](Context& context, float value) {
        for (int i = 0; i < 10; ++i) EXPECT_FLOAT_EQ(run(context), value);
    };
    std::thread other([&] { many(*a, of_a); });
    many(*b, of_b);
    other.join();
}

TEST(InnerMemory, FollowsAMovedArena) {
    auto program = compile(one_scan());
    auto memory = std::make_shared<ContextMemory>();
    auto context = context_with(program, .5f, memory);
    float first = run(*context);
    EXPECT_EQ(memory->bytes(), program->memory().plan);
    memory->clear();
    Tensor elsewhere = ops::full({.shape = {256, 1024}, .value = 0});  // may reuse the arena's memory
    EXPECT_EQ(run(*context), first);
    EXPECT_EQ(elsewhere.data<float>()[7], 0);
}

TEST(InnerMemory, IsReportedToObserversOnce) {
    struct Arenas : StepObserver {
        size_t bytes = 0;
        void allocated(const Allocation& allocation, Context&) override { bytes += allocation.bytes; }
        StepObserver* inside(const InnerRun&, Context&) override { return this; }
    } arenas;
    auto program = compile(one_scan());
    auto context = context_with(program, .5f);
    context->observe(&arenas);
    context->run();
    EXPECT_EQ(arenas.bytes, program->memory().plan);
}

TEST(InnerMemory, IgnoresTheWorkspaceLimit) {
    CompileOptions options = plain();
    options.select.workspace_limit = 0;
    auto context = context_with(Program::compile(one_scan(), options), .5f);
    EXPECT_FLOAT_EQ(run(*context), expected(.5f));
}

TEST(InnerMemory, IsAllocatedByTheStepWithoutAPlan) {
    CompileOptions options = plain();
    options.force_dynamic_alloc = true;
    auto context = context_with(Program::compile(one_scan(), options), .5f);
    for (int i = 0; i < 2; ++i) EXPECT_FLOAT_EQ(run(*context), expected(.5f));
}

}  // namespace
}  // namespace mge::test
