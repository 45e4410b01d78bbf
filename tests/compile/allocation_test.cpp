// SPDX-License-Identifier: Apache-2.0
// Sources of a run's memory: plans, no plan, outputs with their own memory, arenas allocated in advance.

#include <gtest/gtest.h>

#include <cstring>

#include "libmge/mge.h"
#include "tests/compile/counting_device.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr size_t mebibyte = 1 << 20;
const Shape large{256, 1024};  // 1 MiB of float32

Tensor ramp(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

// Eight elementwise steps and the sum of their result; both are outputs, or the sum alone.
Graph chain(bool sum_alone = false) {
    return record({f32(large)}, [&](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 8; ++i) y = i % 2 ? ops::exp(y) : ops::sin(y);
        return sum_alone ? Tensors{ops::sum(y)} : Tensors{y, ops::sum(y)};
    });
}

CompileOptions plain() {
    CompileOptions o;
    o.threads = 1;
    o.switches.fuse_elementwise = 0;
    return o;
}

std::unique_ptr<Context> context_with(const std::shared_ptr<const Program>& program, const Tensor& x) {
    auto context = Context::create(program);
    std::memcpy(context->input(0), x.data(), x.spec().bytes());
    return context;
}

void expect_equal(const Tensor& got, const Tensor& b) {
    ASSERT_TRUE(got && b);
    Tensor a = to_host(got);
    ASSERT_EQ(a.spec(), b.spec());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.spec().bytes()), 0);
}

TEST(ForceDynamicAlloc, AllocatesEachValueWhenItIsComputed) {
    CompileOptions o = plain();
    o.force_dynamic_alloc = true;
    Tensor x = ramp(large);
    Tensors expected = Executable(chain(), plain()).run(Tensors{x});
    OnCountingDevice scope;
    o.device = default_device();
    o.var_sanity_check_first_run = false;  // it looks at copies
    auto program = Program::compile(chain(), o);
    EXPECT_EQ(program->memory().plan, 0u);
    EXPECT_EQ(program->memory().plan_lower_bound, 0u);
    int values = 0, workspaces = 0;
    for (auto& step : program->steps()) {
        values += int(step.outputs.size());
        workspaces += step.workspace > 0;
    }
    EXPECT_EQ(values, 9);
    auto context = context_with(program, x);
    for (int run = 0; run < 3; ++run) {
        auto& cpu = CountingDevice::instance();
        size_t before = cpu.memory().allocated;
        if (run > 0) before -= mebibyte;  // the last run's outputs are given back first
        cpu.reset_peak();
        cpu.allocations = 0;
        context->run();
        EXPECT_EQ(cpu.allocations, values + workspaces);
        EXPECT_LE(double(cpu.memory().peak - before), 2.1 * mebibyte) << "a step's input and its result";
        expect_equal(context->output(0), expected[0]);
        expect_equal(context->output(1), expected[1]);
    }
}

TEST(ForceDynamicAlloc, ServesObserversAndRunTimeShapes) {
    Graph graph = record({f32({6}), f32({6})}, [](const Tensors& x) {
        Tensor mask = ops::greater(ops::add(x[0], x[1]), x[1]);
        Tensor taken = ops::cond_take(ops::mul(x[0], x[1]), mask)[0];
        return Tensors{ops::exp(taken), ops::reshape(ops::neg(x[0]), {.shape = {2, 3}})};
    });
    CompileOptions o = plain();
    o.force_dynamic_alloc = true;
    Tensors x{constant({6}, {1, -2, 3, -4, 5, -6}), constant({6}, {1, 2, 3, 4, 5, 6})};
    Tensors got = Executable(graph, o).run(x), expected = Executable(graph, plain()).run(x);
    for (size_t i = 0; i < 2; ++i) expect_equal(got[i], expected[i]);

    class Reads : public StepObserver {
    public:
        explicit Reads(const Program& program) : program_(program) {}
        void after_step(size_t step, Context& context) override {
            for (ValueId id : program_.steps()[step].outputs) seen += bool(context.value(id));
            for (ValueId id : program_.steps()[step].inputs) seen += bool(context.value(id));
        }
        int seen = 0;

    private:
        const Program& program_;
    };
    auto program = Program::compile(chain(), o);
    auto context = context_with(program, ramp(large));
    Reads reads(*program);
    context->observe(&reads);
    context->run();
    EXPECT_EQ(reads.seen, 2 * 9);
    EXPECT_FALSE(context->value(program->steps()[2].outputs[0])) << "given back";
    EXPECT_EQ(context->time_steps().size(), 9u);
}

TEST(ForceDynamicAlloc, OutOfMemoryNamesTheOperator) {
    CompileOptions o = plain();
    o.force_dynamic_alloc = true;
    auto context = context_with(Program::compile(chain(), o), ramp(large));
    context->run();
    auto& cpu = device({});
    cpu.set_memory_limit(cpu.memory().allocated + mebibyte / 8);
    try {
        context->run();
        ADD_FAILURE() << "no error";
    } catch (const MemoryError& e) {
        EXPECT_NE(std::string(e.what()).find("exp"), std::string::npos) << e.what();
    }
    cpu.set_memory_limit(0);
    context->run();
    expect_equal(context->output(1), Executable(chain(), plain()).run(Tensors{ramp(large)})[1]);
}

TEST(ForceDynamicAlloc, NothingIsRecorded) {
    CompileOptions o = plain();
    o.force_dynamic_alloc = true;
    o.comp_node_seq_record_level = 1;
    ::testing::internal::CaptureStderr();
    auto context = context_with(Program::compile(chain(), o), ramp(large));
    context->run();
    EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                  "comp_node_seq_record_level 1 has no effect: force_dynamic_alloc"),
              std::string::npos);
    expect_equal(context->output(1), Executable(chain(), plain()).run(Tensors{ramp(large)})[1]);
}

TEST(ForceOutputDynamicAlloc, TransfersOutputs) {
    CompileOptions o = plain();
    o.force_output_dynamic_alloc = true;
    auto program = Program::compile(chain(), o);
    auto context = context_with(program, ramp(large));
    context->run();
    Tensor first = context->output(0);
    Tensor copy = context->copy_output(0);
    std::memset(context->input(0), 0, large.numel() * sizeof(float));
    context->run();
    EXPECT_NE(context->output(0).data(), first.data()) << "the first is still held";
    expect_equal(first, copy);
    EXPECT_NE(context->output(0).data<float>()[3], first.data<float>()[3]);
    const void* last = context->output(0).data();
    context->run();
    EXPECT_EQ(context->output(0).data(), last) << "nobody holds the last one";
    // The kernel writes there itself: no step copies.
    EXPECT_EQ(program->steps().size(), Program::compile(chain(), plain())->steps().size());
}

TEST(ForceOutputDynamicAlloc, TimesStepsWithoutARun) {
    CompileOptions o = plain();
    o.force_output_dynamic_alloc = true;
    auto context = context_with(Program::compile(chain(), o), ramp(large));
    EXPECT_EQ(context->time_steps().size(), 9u);
    Tensor first = context->output(0), copy = context->copy_output(0);
    std::memset(context->input(0), 0, large.numel() * sizeof(float));
    context->time_steps();
    expect_equal(first, copy);
}

TEST(UserSpecifiedMemory, NoStepsAreTimedWithoutIt) {
    CompileOptions o = plain();
    o.force_output_use_user_specified_memory = true;
    for (bool skips : {false, true}) {
        o.fake_next_exec = skips;
        auto context = context_with(Program::compile(chain(), o), ramp(large));
        EXPECT_THROW(context->time_steps(), UserError);
    }
}

TEST(AllocateStaticMem, AllocatesArenaWhileCompiling) {
    auto& cpu = device({});
    CompileOptions o = plain();
    size_t before = cpu.memory().allocated;
    auto later = Program::compile(chain(true), o);
    EXPECT_EQ(cpu.memory().allocated, before);
    o.allocate_static_mem_after_graph_compile = true;
    auto now = Program::compile(chain(true), o);
    size_t plan = now->memory().plan;
    EXPECT_GE(plan, mebibyte);
    EXPECT_NEAR(double(cpu.memory().allocated - before), double(plan), 0.04 * double(plan));
    size_t compiled = cpu.memory().allocated;
    auto context = context_with(now, ramp(large)), second = context_with(now, ramp(large));
    size_t ports = now->memory().inputs_outputs;
    EXPECT_NEAR(double(cpu.memory().allocated - compiled), double(2 * ports + plan),
                0.04 * double(2 * ports + plan))
        << "the first context has its arena already, the second takes its own";
    context->run();
    second->run();
    expect_equal(context->output(0), second->output(0));
    cpu.set_memory_limit(cpu.memory().allocated + mebibyte / 2);
    EXPECT_THROW(Program::compile(chain(true), o), MemoryError);
    o.allocate_static_mem_after_graph_compile = false;
    EXPECT_NO_THROW(Program::compile(chain(true), o));
    cpu.set_memory_limit(0);
}

}  // namespace
}  // namespace mge::test
