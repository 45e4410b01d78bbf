// SPDX-License-Identifier: Apache-2.0
// Dense parts of a value share its memory: nothing is copied, and overwriting one part does not affect the
// readers of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "libmge/compile/plain.h"
#include "libmge/inspect/io_dump/io_dump_run.h"
#include "libmge/inspect/layer_walk.h"
#include "libmge/mge.h"
#include "libmge/op/view_offsets.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/shape/split.h"
#include "tests/compile/split_graphs.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

CompileOptions unfused(bool shares = true) {
    CompileOptions o;
    o.level = 0;
    o.threads = 1;
    o.plan.in_place = shares;
    return o;
}

size_t count_steps(const Program& program, std::string_view op) {
    return size_t(std::ranges::count(program.steps(), op, &StepReport::op));
}

void expect_same_bytes(const Tensors& got, const Tensors& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) {
        Tensor here = to_host(got[i]);
        ASSERT_EQ(here.spec(), wanted[i].spec()) << "output " << i;
        EXPECT_EQ(std::memcmp(here.data(), wanted[i].data(), wanted[i].spec().bytes()), 0) << "output " << i;
    }
}

Tensors run(const Graph& graph, const CompileOptions& options, const Tensors& inputs) {
    return Executable(graph, options).run(inputs);
}

// Between operators, so that neither an input nor an output is part of it; the parts are read out of order.
Graph cut(const Shape& shape, const ops::Split::Params& how) {
    return record({f32(shape)}, [&](const Tensors& x) {
        Tensors parts = ops::split(ops::neg(x[0]), how), read;
        for (auto& part : parts) read.insert(read.begin(), ops::exp(part));
        return read;
    });
}

void expect_steps(size_t steps, const Shape& shape, const ops::Split::Params& how) {
    SCOPED_TRACE(testing::Message() << shape << " along " << how.axis);
    std::mt19937 random(1);
    Graph graph = cut(shape, how);
    EXPECT_EQ(count_steps(*Program::compile(graph, unfused()), "split"), steps);
    EXPECT_EQ(count_steps(*Program::compile(graph, unfused(false)), "split"), 1u);
    Tensors x{whole_numbers(shape, random)};
    expect_same_bytes(run(graph, unfused(), x), run(graph, unfused(false), x));
}

TEST(SplitViews, DensePartsAreNoStep) {
    expect_steps(0, {6, 5}, {.axis = 0, .sizes = {2, 1, 3}});
    expect_steps(0, {6, 5}, {.axis = 0, .sizes = {0, 6, 0}});
    expect_steps(0, {1, 8, 3}, {.axis = 1, .sizes = {4, 4}});
    expect_steps(0, {1, 1, 8}, {.axis = -1, .sizes = {3, 5}});
    expect_steps(0, {0, 4}, {.axis = 1, .sizes = {1, 3}});
}

TEST(SplitViews, OtherPartsAreCopied) {
    expect_steps(1, {6, 5}, {.axis = 1, .sizes = {2, 3}});
    expect_steps(1, {2, 8, 3}, {.axis = 1, .sizes = {4, 4}});
}

// A caller that holds an output holds its memory, which must not contain the value that it was cut from.
TEST(SplitViews, OutputsAreNotViews) {
    Graph graph = record({f32({6, 5})}, [](const Tensors& x) {
        Tensors parts = ops::split(ops::neg(x[0]), {.axis = 0, .sizes = {2, 4}});
        return Tensors{parts[0], ops::exp(parts[1])};
    });
    EXPECT_EQ(count_steps(*Program::compile(graph, unfused()), "split"), 1u);
}

// Whole blocks of channels are contiguous if there is one image.
TEST(SplitViews, LayoutsMakeThemDense) {
    auto blocked = [](Shape shape) { return TensorSpec{DType::f32, shape, Layout::named("nChw16c")}; };
    ops::Split::Params params{.axis = 1, .sizes = {16, 32}};
    auto offsets = [&](const TensorSpec& x, const TensorSpecs& parts) {
        return view_offsets(ops::Split::info, &params, x, parts);
    };
    EXPECT_THAT(offsets(blocked({1, 48, 5, 5}), {blocked({1, 16, 5, 5}), blocked({1, 32, 5, 5})}),
                ElementsAre(0u, 16u * 25 * 4));
    EXPECT_THAT(offsets(blocked({2, 48, 5, 5}), {blocked({2, 16, 5, 5}), blocked({2, 32, 5, 5})}), IsEmpty());
    params.sizes = {8, 40};
    EXPECT_THAT(offsets(blocked({1, 48, 5, 5}), {blocked({1, 8, 5, 5}), blocked({1, 40, 5, 5})}), IsEmpty());
}

Graph blocked_net(int64_t images) {
    return record({f32({images, 32, 6, 6})}, [](const Tensors& inputs) {
        std::mt19937 random(3);
        auto conv = [&](const Tensor& x) {
            int64_t channels = x.shape()[1];
            return ops::conv2d(x, whole_numbers({channels, channels, 3, 3}, random), {.padding = {1, 1}});
        };
        Tensors halves = ops::split(conv(inputs[0]), {.axis = 1, .sizes = {16, 16}});
        return Tensors{ops::concat({conv(halves[1]), conv(halves[0])}, {.axis = 1})};
    });
}

TEST(SplitViews, BlockedImagesAreCutInPlace) {
    CompileOptions options;
    options.layout = "nChw16c";
    auto program = Program::compile(blocked_net(1), options);
    auto& values = program->values();
    auto is_blocked_view = [](auto& v) { return v.view_of != no_value && !v.spec.layout.is_plain(); };
    if (std::ranges::none_of(values, [](auto& v) { return !v.spec.layout.is_plain(); }))
        GTEST_SKIP() << "no kernel supports that layout on this machine";
    EXPECT_EQ(std::ranges::count_if(values, is_blocked_view), 2);
    EXPECT_EQ(count_steps(*program, "split"), 0u);
    std::mt19937 random(5);
    Tensors x{whole_numbers({1, 32, 6, 6}, random)};
    CompileOptions copying = options;
    copying.plan.in_place = false;
    expect_same_bytes(run(blocked_net(1), options, x), run(blocked_net(1), copying, x));
    // A walk keeps the layout of what it cuts, too.
    LayerWalk walk(blocked_net(1), options, x);
    while (walk.done() < walk.step_count()) walk.run_next();
    expect_same_bytes({to_plain(walk.value(walk.graph().outputs()[0]))}, run(blocked_net(1), copying, x));
}

// Neither the other part nor the whole changes while a reader is left.
TEST(SplitViews, WritingAPartKeepsTheOthers) {
    ops::Slice::Params first_row{{0, 0, INT64_MIN, INT64_MIN, 1}};
    Graph graph = record({f32({6, 5})}, [&](const Tensors& inputs) {
        Tensor x = ops::neg(inputs[0]), value = inputs[0];
        Tensors parts = ops::split(x, {.axis = 0, .sizes = {3, 3}});
        Tensor row = ops::slice(Tensors{value}, first_row);
        Tensor changed = ops::set_slice({parts[0], row}, first_row);
        Tensor other = ops::set_slice({x, row}, first_row);
        return Tensors{ops::exp(changed), ops::exp(parts[1]), ops::exp(other), ops::exp(parts[0])};
    });
    std::mt19937 random(4);
    Tensors x{whole_numbers({6, 5}, random)};
    expect_same_bytes(run(graph, unfused(), x), run(graph, unfused(false), x));
}

TEST(SplitViews, RunTimeShapes) {
    Graph graph = record({f32({8, 8})}, [](const Tensors& inputs) {
        Tensor found = ops::cond_take(inputs[0], ops::greater(inputs[0], constant({1}, {-9.f})))[0];
        Tensors parts = ops::split(found, {.axis = 0, .sizes = {20, 0, 44}});
        return Tensors{ops::exp(parts[2]), ops::exp(parts[0]), parts[2], found};
    });
    std::mt19937 random(6);
    Tensors x{whole_numbers({8, 8}, random)};
    Tensors all = ops::split(ops::reshape(x[0], {.shape = {64}}), {.axis = 0, .sizes = {20, 0, 44}});
    Tensors got = run(graph, unfused(), x);
    expect_same_bytes({got[0], got[1], got[2]}, {ops::exp(all[2]), ops::exp(all[0]), all[2]});
    // Its memory is not part of the plan, so the parts share it.
    auto context = Context::create(Program::compile(graph, unfused()));
    context->fill_inputs(x);
    context->run();
    Tensor part = context->output(2), whole = context->output(3);
    EXPECT_EQ(part.data<float>(), whole.data<float>() + 20);
}

TEST(SplitViews, EagerPartsShareTheirMemory) {
    std::mt19937 random(7);
    Tensor x = whole_numbers({6, 5}, random);
    Tensors rows = ops::split(x, {.axis = 0, .sizes = {2, 0, 4}}),
            columns = ops::split(x, {.axis = 1, .sizes = {2, 3}});
    EXPECT_EQ(rows[0].data(), x.data());
    EXPECT_EQ(rows[2].data<float>(), x.data<float>() + 10);
    EXPECT_EQ(columns[1].data<float>()[0], x.data<float>()[2]);
    EXPECT_NE(columns[1].data<float>(), x.data<float>() + 2);
}

TEST(SplitViews, DumpsAndReportsNameThem) {
    Graph graph = cut({6, 5}, {.axis = 0, .sizes = {2, 4}});
    std::shared_ptr<const Program> program = Program::compile(graph, unfused());
    struct Sink final : IoDumpSink {
        void write(const DumpedValue& value) override { values.push_back(value); }
        std::vector<DumpedValue> values;
    } sink;
    IoDumpRun dump(program, sink);
    auto context = Context::create(program);
    std::mt19937 random(8);
    Tensors x{whole_numbers({6, 5}, random)};
    context->fill_inputs(x);
    context->observe(&dump);
    context->run();
    Tensors parts;
    for (auto& value : sink.values)
        if (value.self.owner_type == "view") {
            parts.push_back(value.value);
            EXPECT_THAT(value.inputs, SizeIs(1));
        }
    Tensors wanted = ops::split(ops::neg(x[0]), {.axis = 0, .sizes = {2, 4}});
    std::ranges::sort(parts, {}, [](auto& part) { return part.shape()[0]; });
    expect_same_bytes(parts, wanted);
}

// Programs with parts in place compute the same as with copies, with every kind of memory.
TEST(SplitViews, RandomGraphsComputeAsWithCopies) {
    CompileOptions dynamic = unfused(), saving = unfused(), checking = unfused(), optimised;
    dynamic.force_dynamic_alloc = true;
    saving.recompute.lowers_peak = true;
    checking.var_sanity_check_first_run = true;
    optimised.verify_passes = true;
    size_t views = 0, shared = 0;
    for (uint32_t seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        Shape a{int64_t(random() % 8 + 1), int64_t(random() % 5 + 1)};
        auto body = [&](const Tensors& x) { return SplitGraph(x, seed).body(); };
        Graph graph = record({f32(a)}, body);
        Tensors x{whole_numbers(a, random)};
        Tensors wanted = run(graph, unfused(false), x);
        expect_same_bytes(body(x), wanted);
        for (auto* options : {&dynamic, &saving, &checking, &optimised}) {
            Executable executable(graph, *options);
            for (int i = 0; i < 2; ++i) expect_same_bytes(executable.run(x), wanted);
        }
        LayerWalk walk(graph, unfused(), x);
        while (walk.done() < walk.step_count()) walk.run_next();
        for (size_t i = 0; i < wanted.size(); ++i)
            expect_same_bytes({walk.value(walk.graph().outputs()[i])}, {wanted[i]});
        auto program = Program::compile(graph, unfused());
        for (auto& node : program->graph().nodes())
            if (node.op == &ops::Split::info)
                views += program->values()[size_t(node.outputs[0])].view_of != no_value;
        shared += program->memory().plan < Program::compile(graph, unfused(false))->memory().plan;
    }
    EXPECT_GT(views, 200u);
    EXPECT_GT(shared, 40u);
}

}  // namespace
}  // namespace mge::test
