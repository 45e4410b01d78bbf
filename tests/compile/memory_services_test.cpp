// SPDX-License-Identifier: Apache-2.0
// The memory of programs: the caller's outputs, an allocator per context, arenas that contexts share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <latch>
#include <map>
#include <thread>

#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/emulator.h"
#include "tests/harness/expect_error.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::HasSubstr;

constexpr size_t mebibyte = 1 << 20;
const Shape large{256, 1024};  // 1 MiB of float32

CompileOptions plain() {
    CompileOptions o;
    o.threads = 1;
    o.switches.fuse_elementwise = 0;
    o.var_sanity_check_first_run = false;
    return o;
}

// Sums of x with each of its powers: all of them are alive at once.
Graph powers(int count, const Shape& shape = large) {
    return record({f32(shape)}, [&](const Tensors& x) {
        Tensors all{ops::mul(x[0], x[0])};
        for (int i = 1; i < count; ++i) all.push_back(ops::sin(all.back()));
        Tensor sum = all.back();
        for (int i = count - 1; i-- > 0;) sum = ops::add(ops::exp(sum), all[size_t(i)]);
        return Tensors{ops::sum(sum)};
    });
}

void fill(Context& context, float value) {
    auto& spec = context.program().inputs()[0].spec;
    std::fill_n(static_cast<float*>(context.input(0)), spec.numel(), value);
}

float run(Context& context) {
    context.run();
    return context.output(0).data<float>()[0];
}

float expected(int count, float value) {
    auto context = Context::create(Program::compile(powers(count), plain()));
    fill(*context, value);
    return run(*context);
}

TEST(SharedMemory, IsTheLargestAndNotTheSum) {
    auto memory = std::make_shared<ContextMemory>();
    std::vector<std::unique_ptr<Context>> contexts;
    size_t most = 0;
    for (int count : {3, 6, 4}) {
        auto program = Program::compile(powers(count), plain());
        most = std::max(most, program->memory().plan);
        contexts.push_back(Context::create(program, memory));
        fill(*contexts.back(), .25f);
    }
    EXPECT_GE(most, 6 * mebibyte);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(run(*contexts[0]), expected(3, .25f));
        EXPECT_EQ(run(*contexts[1]), expected(6, .25f));
        EXPECT_EQ(run(*contexts[2]), expected(4, .25f));
    }
    EXPECT_EQ(memory->bytes(), most);
    EXPECT_EQ(memory->bytes(host_device), most);
    size_t before = device(host_device).memory().allocated;
    EXPECT_EQ(memory->clear(), 3u);
    EXPECT_EQ(memory->bytes(), 0u);
    EXPECT_NEAR(double(before - device(host_device).memory().allocated), double(most), 0.04 * double(most));
    EXPECT_EQ(run(*contexts[1]), expected(6, .25f));
    EXPECT_EQ(memory->bytes(), most) << "the next run allocates again";
    contexts.pop_back();
    EXPECT_EQ(memory->clear(), 2u);
}

TEST(Destroy, NeedsTheLastReference) {
    auto allocated = [] { return device(host_device).memory().allocated; };
    CompileOptions o = plain();
    o.allocate_static_mem_after_graph_compile = true;
    size_t before = allocated();
    auto program = Program::compile(powers(3), o);
    uint64_t id = program->id();
    EXPECT_GE(allocated(), before + 3 * mebibyte);
    auto context = Context::create(program);
    EXPECT_THAT(error_of([&] { destroy(program); }), HasSubstr("other places"));
    fill(*context, .25f);
    EXPECT_EQ(run(*context), expected(3, .25f));
    context.reset();
    auto other = program;
    EXPECT_THAT(error_of([&] { destroy(program); }),
                HasSubstr(text("program ", id, " is held in 1 other place ")));
    other.reset();
    destroy(program);
    EXPECT_EQ(program, nullptr);
    EXPECT_EQ(allocated(), before);
}

TEST(SharedMemory, OutputsAreTheContextsOwn) {
    auto memory = std::make_shared<ContextMemory>();
    auto one = Context::create(Program::compile(powers(3), plain()), memory);
    auto two = Context::create(Program::compile(powers(4), plain()), memory);
    fill(*one, .5f);
    fill(*two, .125f);
    float first = run(*one);
    Tensor output = one->output(0);
    run(*two);
    EXPECT_EQ(output.data<float>()[0], first);
}

TEST(SharedMemory, TwoRunsAtOnceAreAnError) {
    struct Inner : StepObserver {
        Context* other = nullptr;
        std::string error;
        void before_step(size_t, Context& context) override {
            std::thread([&] { error = error_of([&] { other->run(); }); }).join();
            EXPECT_THAT(error_of([&] { context.memory()->clear(); }), HasSubstr("is running"));
        }
    } inner;
    auto one = Context::create(Program::compile(powers(1), plain()));
    auto two = Context::create(Program::compile(powers(2), plain()), one->memory());
    inner.other = two.get();
    one->observe(&inner);
    one->run();
    EXPECT_THAT(inner.error, HasSubstr("contexts that share memory run one after the other"));
    one->observe(nullptr);
    fill(*two, .5f);
    EXPECT_EQ(run(*two), expected(2, .5f));
    two->start();
    two->wait();
}

// The run was the parent's, on a thread that the child does not have.
TEST(SharedMemory, IsFreeInAChildMadeDuringARun) {
    if (runs_in_qemu()) GTEST_SKIP() << qemu_forks;
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer identifies threads by addresses, which a child of fork() reuses";
#endif
    struct Waiting : StepObserver {
        std::latch began{1}, may_end{1};
        void before_step(size_t, Context&) override {
            if (!began.try_wait()) began.count_down();  // the first step
            may_end.wait();
        }
    } waiting;
    auto one = Context::create(Program::compile(powers(1), plain()));
    auto two = Context::create(Program::compile(powers(2), plain()), one->memory());
    const float wanted = expected(2, .5f);
    fill(*two, .5f);
    one->observe(&waiting);
    std::thread thread([&] { one->run(); });
    waiting.began.wait();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        float got = 0;
        std::string error;
        // Its memory may be where the parent's thread had its own.
        std::thread([&] { error = error_of<std::exception>([&] { got = run(*two); }); }).join();
        _exit(error == "no error" && got == wanted ? 0 : 1);
    }
    waiting.may_end.count_down();
    thread.join();
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(SharedMemory, ErrorReleasesIt) {
    Graph graph = record({f32({6}), {DType::i32, {2}, {}}},
                         [](const Tensors& x) { return Tensors{ops::reshape(ops::add(x[0], x[0]), x[1])}; });
    auto one = Context::create(Program::compile(graph, plain()));
    auto two = Context::create(Program::compile(powers(2), plain()), one->memory());
    static_cast<int32_t*>(one->input(1))[0] = static_cast<int32_t*>(one->input(1))[1] = 5;
    EXPECT_THROW(one->run(), UserError);
    one->start();
    EXPECT_THROW(one->wait(), UserError);
    fill(*two, .5f);
    EXPECT_EQ(run(*two), expected(2, .5f));
}

TEST(SharedMemory, MayBeTakenBefore) {
    auto memory = std::make_shared<ContextMemory>();
    EXPECT_EQ(memory->prealloc(host_device, 16 * mebibyte), 16 * mebibyte);
    size_t before = device(host_device).memory().allocated;
    auto program = Program::compile(powers(6), plain());
    auto context = Context::create(program, memory);
    EXPECT_LT(device(host_device).memory().allocated,
              before + program->memory().inputs_outputs + mebibyte / 8);
    EXPECT_EQ(memory->prealloc(host_device, 1), 16 * mebibyte);
    fill(*context, .25f);
    EXPECT_EQ(run(*context), expected(6, .25f));
}

TEST(SharedMemory, ExecutableUsesItsLargestShape) {
    Executable executable(powers(5), plain());
    auto of_rows = [](int64_t rows) {
        return constant({rows, 1024}, std::vector<float>(size_t(rows) * 1024, .25f));
    };
    size_t most = 0;
    std::map<int64_t, float> sums;
    for (int round = 0; round < 2; ++round)
        for (int64_t rows : {64, 256, 128, 32}) {
            Tensor x = of_rows(rows);
            float sum = executable.run(Tensors{x})[0].data<float>()[0];
            EXPECT_EQ(sums.try_emplace(rows, sum).first->second, sum);
            most = std::max(most, executable.program_for({x.spec()})->memory().plan);
            EXPECT_EQ(executable.memory()->bytes(), most);
        }
    EXPECT_EQ(executable.memory()->clear(), 4u);
    EXPECT_EQ(executable.run(Tensors{of_rows(64)})[0].data<float>()[0], sums[64]);
}

// Counts, and keeps what it gave.
class Counting final : public ContextAllocator {
public:
    StorageRef alloc_static(DeviceId place, size_t bytes) override {
        ++statics;
        last_bytes = bytes;
        last = ContextAllocator::alloc_static(place, bytes);
        return last;
    }
    StorageRef alloc_dynamic(DeviceId place, size_t bytes) override {
        ++dynamics;
        return ContextAllocator::alloc_dynamic(place, bytes);
    }
    size_t static_alloc_version(DeviceId) const override { return version; }
    int statics = 0, dynamics = 0;
    size_t version = 0, last_bytes = 0;
    StorageRef last;
};

TEST(Allocator, ReallocatesArenaWhenItsVersionRises) {
    auto allocator = std::make_shared<Counting>();
    auto program = Program::compile(powers(4), plain());
    {
        auto context = Context::create(program, std::make_shared<ContextMemory>(allocator));
        fill(*context, .25f);
        for (int i = 0; i < 12; ++i) {
            if (i && i % 3 == 0) ++allocator->version;
            EXPECT_EQ(run(*context), expected(4, .25f));
        }
        EXPECT_EQ(allocator->statics, 4);
        EXPECT_EQ(allocator->last_bytes, program->memory().plan);
        bool is_inside = false;
        for (auto& value : program->values())
            if (value.place == ValueReport::Place::arena) {
                Tensor tensor = context->value(ValueId(&value - program->values().data()));
                is_inside |= tensor && tensor.impl()->storage.get() == allocator->last.get();
            }
        EXPECT_TRUE(is_inside);
        allocator->version = ContextAllocator::invalid_version;
        EXPECT_THAT(error_of([&] { context->run(); }), HasSubstr("invalid_version"));
        allocator->version = 0;
        EXPECT_EQ(run(*context), expected(4, .25f));
    }
    EXPECT_EQ(allocator->last->users, 1u) << "given back";
}

TEST(Allocator, ProvidesMemoryOfARun) {
    auto allocator = std::make_shared<Counting>();
    CompileOptions o = plain();
    o.force_dynamic_alloc = true;
    auto program = Program::compile(powers(3), o);
    auto context = Context::create(program, std::make_shared<ContextMemory>(allocator));
    fill(*context, .25f);
    EXPECT_EQ(run(*context), expected(3, .25f));
    EXPECT_EQ(allocator->statics, 0);
    EXPECT_GE(allocator->dynamics, int(program->steps().size()));
    // Values whose shape only the run finds out, too.
    Graph graph = record({f32({6})}, [](const Tensors& x) {
        return Tensors{ops::exp(ops::cond_take(x[0], ops::greater(x[0], ops::mul(x[0], x[0])))[0])};
    });
    auto dynamic =
        Context::create(Program::compile(graph, plain()), std::make_shared<ContextMemory>(allocator));
    allocator->dynamics = 0;
    std::fill_n(static_cast<float*>(dynamic->input(0)), 6, .5f);
    dynamic->run();
    EXPECT_EQ(dynamic->output(0).shape(), (Shape{6}));
    EXPECT_GE(allocator->dynamics, 3);
}

TEST(Allocator, ProvidesMemoryOfInnerRuns) {
    auto chosen = make_subgraph(TensorSpecs{f32({6})}, [](std::span<const Tensor> in) -> Tensors {
        return {ops::exp(ops::cond_take(in[0], ops::greater(in[0], ops::mul(in[0], in[0])))[0])};
    });
    auto all = make_subgraph(TensorSpecs{f32({6})},
                             [](std::span<const Tensor> in) -> Tensors { return {ops::exp(in[0])}; });
    auto deeper = make_subgraph(TensorSpecs{f32({6})}, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::neg(ops::cond({ops::sum(in[0]), in[0]}, {chosen, all})[0])};
    });
    auto program = Program::compile(record({f32({6})},
                                           [&](const Tensors& x) {
                                               return ops::cond({ops::sum(x[0]), x[0]}, {deeper, all});
                                           }),
                                    plain());
    auto allocator = std::make_shared<Counting>();
    auto context = Context::create(program, std::make_shared<ContextMemory>(allocator));
    auto other = Context::create(program);
    for (int i = 0; i < 2; ++i) {
        allocator->dynamics = 0;
        fill(*context, .5f);
        context->run();
        EXPECT_GE(allocator->dynamics, 5) << "a result of each cond, taken, exp and neg";
        EXPECT_EQ(allocator->statics, 1) << "the arena, with what is inside";
        allocator->dynamics = 0;
        fill(*other, .5f);
        other->run();
        EXPECT_EQ(allocator->dynamics, 0) << "another context's";
        ASSERT_EQ(other->output(0).shape(), (Shape{6}));
        EXPECT_EQ(other->output(0).data<float>()[5], context->output(0).data<float>()[5]);
    }
}

TEST(Allocator, RefusesTooSmallBlocks) {
    class Small final : public ContextAllocator {
        StorageRef alloc_static(DeviceId place, size_t) override {
            return ContextAllocator::alloc_static(place, 64);
        }
    };
    EXPECT_THAT(error_of([] {
                    Context::create(Program::compile(powers(3), plain()),
                                    std::make_shared<ContextMemory>(std::make_shared<Small>()));
                }),
                HasSubstr("the allocator did not provide"));
}

// Memory of one stretch, the first hole that fits; what is asked for together begins at the front.
class Stretch final : public ContextAllocator {
public:
    explicit Stretch(size_t bytes) : memory_(queue_of(host_device).allocate(bytes)), free_{{0, bytes}} {}
    StorageRef alloc_dynamic(DeviceId, size_t bytes) override {
        bytes = std::max<size_t>(64, (bytes + 63) / 64 * 64);
        for (auto it = free_.begin(); it != free_.end(); ++it) {
            auto [at, size] = *it;
            if (size < bytes) continue;
            free_.erase(it);
            if (size > bytes) free_[at + bytes] = size - bytes;
            auto piece = std::make_unique<Piece>();
            piece->data = static_cast<char*>(memory_->data) + at;
            piece->bytes = bytes;
            piece->release = release;
            piece->owner = this;
            return StorageRef(piece.release());
        }
        throw MemoryError("no hole is large enough");
    }
    void defrag_prealloc_contig(DeviceId, size_t bytes) override { requested.push_back(bytes); }
    std::vector<size_t> requested;

private:
    struct Piece : Storage {
        Stretch* owner = nullptr;
    };
    static void release(Storage* storage) {
        std::unique_ptr<Piece> piece(static_cast<Piece*>(storage));
        auto& free = piece->owner->free_;
        auto at = size_t(static_cast<char*>(piece->data) - static_cast<char*>(piece->owner->memory_->data));
        auto it = free.emplace(at, piece->bytes).first;
        if (auto next = std::next(it); next != free.end() && at + it->second == next->first) {
            it->second += next->second;
            free.erase(next);
        }
        if (it == free.begin()) return;
        auto before = std::prev(it);
        if (before->first + before->second != at) return;
        before->second += it->second;
        free.erase(it);
    }
    StorageRef memory_;
    std::map<size_t, size_t> free_;  // by offset, bytes
};

// Values of run-time shape: a, b, c, d of 4 KiB each. a and c are freed, b and d stay while 8 KiB are needed.
Graph fragments() {
    return record({f32({1024})}, [](const Tensors& x) {
        Tensor mask = ops::greater(x[0], ops::sub(x[0], constant({1}, {1})));
        Tensor a = ops::cond_take(x[0], mask)[0];
        Tensor b = ops::sin(a), c = ops::exp(b), d = ops::cos(c);
        Tensor large = ops::broadcast_to(ops::sum(d), {.shape = {2048}});
        return Tensors{ops::add(ops::sum(large), ops::add(ops::sum(b), ops::sum(d)))};
    });
}

TEST(Defragment, CompactsWhenNoHoleIsLargeEnough) {
    auto run_in = [](size_t bytes, bool defragments, std::shared_ptr<Stretch>& stretch) {
        CompileOptions o = plain();
        o.level = 0;
        o.enable_var_mem_defragment = defragments;
        stretch = std::make_shared<Stretch>(bytes);
        auto context =
            Context::create(Program::compile(fragments(), o), std::make_shared<ContextMemory>(stretch));
        auto* x = static_cast<float*>(context->input(0));
        for (size_t i = 0; i < 1024; ++i) x[i] = float(i) / 1024;
        context->run();
        return context->output(0).data<float>()[0];
    };
    std::shared_ptr<Stretch> stretch;
    float wanted = run_in(mebibyte, true, stretch);
    EXPECT_TRUE(stretch->requested.empty());
    // The least that is enough when values may be moved.
    size_t least = 0;
    for (size_t bytes = 12 << 10; !least; bytes += 1 << 10) {
        ASSERT_LT(bytes, mebibyte);
        try {
            EXPECT_EQ(run_in(bytes, true, stretch), wanted);
            least = bytes;
        } catch (const MemoryError&) {
        }
    }
    ASSERT_EQ(stretch->requested.size(), 1u) << "asked once, before the single requests";
    try {
        run_in(least, false, stretch);
        ADD_FAILURE() << "no error";
    } catch (const MemoryError& e) {
        EXPECT_THAT(e.what(), HasSubstr("broadcast_to"));
    }
}

// The gradient of a deep chain.
Graph deep_chain() {
    return record({f32(large)}, [](const Tensors& x) {
        std::vector<Tensor> values{x[0]};
        for (int i = 0; i < 24; ++i) values.push_back(ops::sin(values.back()));
        Tensor gradient = values.back();
        for (size_t i = values.size() - 1; i-- > 0;) gradient = ops::mul(gradient, ops::cos(values[i]));
        return Tensors{ops::sum(gradient)};
    });
}

TEST(Dtr, StaysWithinItsBudget) {
    auto sum_of = [](const std::shared_ptr<const Program>& program) {
        auto context = Context::create(program);
        fill(*context, .5f);
        return run(*context);
    };
    CompileOptions o = plain();
    auto full = Program::compile(deep_chain(), o);
    o.recompute.keeps_budget = true;
    o.recompute.budget = full->memory().plan / 2;
    auto half = Program::compile(deep_chain(), o);
    EXPECT_LE(half->memory().plan, full->memory().plan / 2 + mebibyte);
    EXPECT_GT(half->memory().repeated_segments, 0u);
    EXPECT_EQ(sum_of(half), sum_of(full));
    o.recompute.budget = 0;
    EXPECT_LT(Program::compile(deep_chain(), o)->memory().plan, half->memory().plan);
    o.recompute.smallest = 2 * mebibyte;
    EXPECT_EQ(Program::compile(deep_chain(), o)->memory().plan, full->memory().plan) << "all are smaller";
    o.recompute.lowers_peak = true;
    EXPECT_THAT(error_of([&] { Program::compile(deep_chain(), o); }),
                HasSubstr("contradicts recompute.lowers_peak"));
}

TEST(MemoryOptions, ThatDoNothingAreListed) {
    CompileOptions o = plain();
    o.enable_memory_swap = o.recompute.keeps_budget = true;
    o.recompute.time_weight = 2;
    testing::internal::CaptureStderr();
    auto program = Program::compile(powers(2), o);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("enable_memory_swap true has no effect"));
    std::vector<std::string> options;
    for (auto& ignored : program->options_without_effect()) options.push_back(ignored.option);
    EXPECT_THAT(options, testing::UnorderedElementsAre("enable_memory_swap", "recompute.keeps_budget",
                                                       "recompute.time_weight"));
}

// The last value is written to the caller's memory, regardless of its kind.
TEST(BoundOutputs, AreWrittenInPlace) {
    struct Case {
        const char* name;
        Body body;
    };
    std::vector<Case> cases{
        {"kernel", [](const Tensors& x) { return Tensors{ops::exp(x[0])}; }},
        {"reshape", [](const Tensors& x) { return Tensors{ops::reshape(ops::exp(x[0]), {.shape = {6}})}; }},
        {"input", [](const Tensors& x) { return Tensors{x[0]}; }},
        {"view of the input", [](const Tensors& x) { return Tensors{ops::reshape(x[0], {.shape = {6}})}; }},
        {"transpose",
         [](const Tensors& x) {
             return Tensors{ops::transpose(ops::exp(x[0]), {.pattern = {1, 0}})};
         }},
        {"broadcast",
         [](const Tensors& x) { return Tensors{ops::broadcast_to(ops::sum(x[0]), {.shape = {6}})}; }},
        {"slice",
         [](const Tensors& x) {
             return Tensors{ops::slice(ops::exp(x[0]), {.items = {0, 1, 2, 1, 0}})};
         }},
        {"constant",
         [](const Tensors&) {
             return Tensors{constant({2}, {3, 4})};
         }},
        {"twice",
         [](const Tensors& x) {
             Tensor y = ops::exp(x[0]);
             return Tensors{y, y};
         }},
        {"value and view",
         [](const Tensors& x) {
             Tensor y = ops::exp(x[0]);
             return Tensors{ops::reshape(y, {.shape = {6}}), y, ops::sin(y)};
         }},
    };
    for (auto& [name, body] : cases) {
        SCOPED_TRACE(name);
        Graph graph = record({f32({2, 3})}, body);
        float x[] = {.1f, -.2f, .3f, .4f, -.5f, .6f};
        auto reference = Context::create(Program::compile(graph, plain()));
        std::memcpy(reference->input(0), x, sizeof x);
        reference->run();
        for (bool has_no_plan : {false, true}) {
            CompileOptions o = plain();
            o.force_output_use_user_specified_memory = true;
            o.force_dynamic_alloc = has_no_plan;
            auto program = Program::compile(graph, o);
            auto context = Context::create(program);
            std::memcpy(context->input(0), x, sizeof x);
            EXPECT_THAT(error_of([&] { context->run(); }), HasSubstr("bind_output"));
            for (int round = 0; round < 2; ++round) {
                std::vector<Tensor> memory;
                for (size_t i = 0; i < program->outputs().size(); ++i) {
                    auto& spec = program->outputs()[i].spec;
                    memory.push_back(empty_tensor(spec));
                    context->bind_output(i, memory[i].data(), spec.bytes());
                }
                context->run();
                for (size_t i = 0; i < memory.size(); ++i) {
                    EXPECT_EQ(context->output(i).data(), memory[i].data());
                    Tensor wanted = reference->output(i);
                    EXPECT_EQ(std::memcmp(memory[i].data(), wanted.data(), wanted.spec().bytes()), 0) << i;
                }
            }
        }
    }
}

TEST(BoundOutputs, MayBindSomeOutputs) {
    Graph graph = record({f32({4})}, [](const Tensors& x) {
        return Tensors{ops::exp(x[0]), ops::sin(x[0]), x[0]};
    });
    auto context = Context::create(Program::compile(graph, plain()));
    std::fill_n(static_cast<float*>(context->input(0)), 4, 1.f);
    Tensor memory = empty_tensor(f32({4}));
    context->bind_output(1, memory.data(), 16);
    context->run();
    EXPECT_EQ(context->output(1).data(), memory.data());
    EXPECT_FLOAT_EQ(memory.data<float>()[2], std::sin(1.f));
    EXPECT_FLOAT_EQ(context->output(0).data<float>()[2], std::exp(1.f));
    context->bind_output(1, nullptr, 0);
    context->run();
    EXPECT_NE(context->output(1).data(), memory.data());
    EXPECT_FLOAT_EQ(context->output(1).data<float>()[2], std::sin(1.f));
    // This one is no memory of its own.
    EXPECT_THAT(error_of([&] { context->bind_output(2, memory.data(), 16); }),
                HasSubstr("force_output_use_user_specified_memory"));
}

TEST(BoundOutputs, AreCheckedWhenBound) {
    CompileOptions o = plain();
    o.force_output_use_user_specified_memory = true;
    Graph graph = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    auto context = Context::create(Program::compile(graph, o));
    Tensor memory = empty_tensor(f32({4}));
    EXPECT_THAT(error_of([&] { context->bind_output(0, memory.data(), 12); }),
                HasSubstr("output 0 has 16 bytes, the memory given for it 12"));
    EXPECT_THAT(error_of([&] { context->bind_output(1, memory.data(), 16); }),
                HasSubstr("there is no output 1"));
    EXPECT_THAT(error_of([&] { Executable(graph, o).run(Tensors{memory}); }),
                HasSubstr("force_output_use_user_specified_memory"));
    o.force_output_dynamic_alloc = true;
    EXPECT_THAT(error_of([&] { Program::compile(graph, o); }),
                HasSubstr("contradicts force_output_dynamic_alloc"));
    o.force_output_dynamic_alloc = false;
    Graph dynamic = record({f32({6})}, [](const Tensors& x) {
        return Tensors{ops::cond_take(x[0], ops::greater(x[0], ops::mul(x[0], x[0])))[0]};
    });
    EXPECT_THAT(error_of([&] { Program::compile(dynamic, o); }), HasSubstr("known only at run time"));
}

}  // namespace
}  // namespace mge::test
