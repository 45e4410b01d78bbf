// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "libmge/compile/memory/upload.h"
#include "libmge/device/default_device.h"
#include "libmge/graph/place.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/model/model.h"
#include "libmge/ops/move/to_device.h"
#include "tests/compile/split_graphs.h"
#include "tests/harness/check_op.h"
#include "tests/shadow/shadow_device.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor filled(const Shape& shape, int seed) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 13) % 23 - 11) / 8;
    return make_tensor(DType::f32, shape, values);
}

// A convolution net with a batch norm to fold, weights to pack and layouts to choose.
Graph convolution_net() {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {2, 16, 9, 9}, {}}, "x");
    Tensor y = ops::conv2d(x, filled({32, 16, 3, 3}, 1), {.padding = {1, 1}});
    y = ops::relu(ops::add(y, filled({1, 32, 1, 1}, 2)));
    y = ops::max_pool2d(y, {.kernel = {3, 3}, .stride = {2, 2}});
    y = ops::softmax(ops::matmul(ops::reshape(y, {.shape = {2, -1}}), filled({32 * 16, 10}, 3)), {.axis = 1});
    builder.set_outputs({y});
    return builder.take();
}

Tensors run(const Graph& graph, const CompileOptions& options, const Tensor& x) {
    auto program = Program::compile(graph, options);
    auto context = Context::create(program);
    context->fill_inputs({&x, 1});
    context->run();
    context->wait();
    Tensors outputs;
    for (size_t i = 0; i < program->outputs().size(); ++i) outputs.push_back(context->copy_output(i));
    return outputs;
}

void expect_equal(const Tensor& got, const Tensor& expected) {
    Tensor here = to_host(got);
    ASSERT_EQ(here.spec(), expected.spec());
    for (int64_t i = 0; i < expected.spec().numel(); ++i)
        ASSERT_EQ(here.data<float>()[i], expected.data<float>()[i]) << i;
}

TEST(ShadowPrograms, NetMatchesTheCpu) {
    Graph graph = convolution_net();
    Tensor x = filled({2, 16, 9, 9}, 4);
    Tensor expected = run(graph, {}, x)[0];
    Tensor got = run(graph, {.device = shadow_device()}, x)[0];
    EXPECT_EQ(got.device(), shadow_device());
    expect_equal(got, expected);
}

TEST(ShadowPrograms, EveryModeOfMemoryWorks) {
    Graph graph = convolution_net();
    Tensor x = filled({2, 16, 9, 9}, 4);
    Tensor expected = run(graph, {}, x)[0];
    CompileOptions dynamic{.device = shadow_device()}, new_outputs = dynamic, early = dynamic,
                                                       plain = dynamic;
    dynamic.force_dynamic_alloc = true;
    new_outputs.force_output_dynamic_alloc = true;
    early.allocate_static_mem_after_graph_compile = true;
    plain.plan.reuse = false;
    for (auto& options : {dynamic, new_outputs, early, plain})
        expect_equal(run(graph, options, x)[0], expected);
}

TEST(ShadowPrograms, FastRunMeasuresThere) {
    Graph graph = convolution_net();
    Tensor x = filled({2, 16, 9, 9}, 4);
    auto cache = FastrunCache::in_memory();
    CompileOptions options{.device = shadow_device()};
    options.select.profile = true;
    options.select.heuristic = false;
    options.select.cache = cache.get();
    auto program = Program::compile(graph, options);
    bool any = false;
    for (auto& step : program->steps()) any |= step.source == ChoiceSource::measured;
    EXPECT_TRUE(any);
    EXPECT_NE(FastrunCache::machine(shadow_device()), FastrunCache::machine(host_device));
    Tensor expected = run(graph, {}, x)[0];
    expect_close(to_host(run(graph, options, x)[0]), expected, 512, 4, "measured there");
}

// An image is moved between two convolutions: layouts and algorithms are compared by measured times.
TEST(ShadowPrograms, FastRunMeasuresAMove) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    DeviceId one = host_device, two = shadow_device();
    Tensor x = builder.input({DType::f32, {1, 16, 8, 8}, {}}, "x", one);
    auto weight = [](DeviceId device) { return to_device(filled({16, 16, 3, 3}, 1), device); };
    Tensor y = ops::conv2d(x, weight(one), {.padding = {1, 1}});
    y = ops::conv2d(ops::to_device(y, {.device = two}), weight(two), {.padding = {1, 1}});
    builder.set_outputs({y});
    CompileOptions options{.measure_layouts = true};
    options.select.profile = true;
    options.select.heuristic = false;
    Graph graph = builder.take();
    Tensor in = filled({1, 16, 8, 8}, 5);
    expect_close(to_host(run(graph, options, in)[0]), to_host(run(graph, {}, in)[0]), 512, 4, "measured");
}

TEST(ShadowPrograms, SpanDevices) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    DeviceId one = shadow_device(0, 1), two = shadow_device(1, 0);
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    Tensor a = ops::mul(ops::to_device(x, {.device = one}), ops::to_device(x, {.device = one}));
    Tensor b = ops::add(ops::to_device(a, {.device = two}), ops::to_device(x, {.device = two}));
    builder.set_outputs({ops::to_device(b, {.device = {}}), a, ops::exp(b)});
    Graph graph = builder.take();
    verify(graph);
    auto program = Program::compile(graph, {});
    EXPECT_THAT(program->places(), testing::UnorderedElementsAre(host_device, one, two));
    auto context = Context::create(program);
    for (int i = 0; i < 20; ++i) {
        float values[] = {1, 2, float(i)};
        Tensor in = tensor_from_host({DType::f32, {3}, {}}, values, host_device);
        context->fill_inputs({&in, 1});
        context->run();
        context->wait();
        Tensor sum = context->output(0), square = context->output(1);
        EXPECT_EQ(sum.device(), host_device);
        EXPECT_EQ(square.device(), one);
        EXPECT_EQ(context->output(2).device(), two);
        EXPECT_EQ(sum.data<float>()[2], float(i * i + i));
        EXPECT_EQ(to_host(square).data<float>()[1], 4);
    }
}

TEST(ShadowPrograms, PartsInPlaceAreWrittenAndRead) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        Shape shape{int64_t(random() % 8 + 1), int64_t(random() % 5 + 1)};
        Tensor x = whole_numbers(shape, random);
        GraphBuilder builder;
        {
            InterpreterScope scope(builder);
            builder.set_outputs(SplitGraph({builder.input(x.spec(), "x")}, seed).body());
        }
        Graph graph = builder.take();
        Tensors expected = SplitGraph({x}, seed).body(), got = run(graph, {.device = shadow_device()}, x);
        for (size_t i = 0; i < got.size(); ++i) expect_equal(got[i], expected[i]);
        Tensors at_once = SplitGraph({to_device(x, shadow_device())}, seed).body();
        for (size_t i = 0; i < got.size(); ++i) expect_equal(at_once[i], expected[i]);
    }
}

TEST(ShadowPrograms, MixedPlacesAreRefusedWithTheNode) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {3}, {}}, "x"), y = builder.input({DType::f32, {3}, {}}, "y");
    builder.set_outputs({ops::add(x, y)});
    Graph graph = builder.take();
    DeviceId places[] = {host_device, shadow_device()};
    try {
        place_inputs(graph, places);
        FAIL() << "no error";
    } catch (const UserError& e) {
        EXPECT_THAT(e.what(), HasSubstr("add"));
        EXPECT_THAT(e.what(), HasSubstr("xpux:0 and shadow0:0"));
    }
}

TEST(ShadowPrograms, FilesKeepPlaces) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {3}, {}}, "x");
    Tensor there = ops::to_device(x, {.device = shadow_device(1)});
    Tensor y = ops::mul(
        there, tensor_from_host({DType::f32, {3}, {}}, std::vector<float>{1, 2, 3}.data(), shadow_device(1)));
    builder.set_outputs({ops::to_device(y, {.device = {}})});
    Model model;
    model.graph = builder.take();
    std::ostringstream stream;
    write_model(stream, model);
    std::string bytes = std::move(stream).str();
    auto storage = std::make_shared<StorageRef>(queue_of(host_device).allocate(bytes.size()));
    std::memcpy((*storage)->data, bytes.data(), bytes.size());
    Graph read = read_model({static_cast<std::byte*>((*storage)->data), bytes.size()}, storage, "m").graph;
    EXPECT_TRUE(read.value(read.inputs()[0]).device.is_default);
    auto program = Program::compile(read, {});
    EXPECT_THAT(program->places(), testing::UnorderedElementsAre(host_device, shadow_device(1)));
    EXPECT_EQ(run(read, {}, filled({3}, 1))[0].data<float>()[1], filled({3}, 1).data<float>()[1] * 2);
}

TEST(ShadowPrograms, AnExecutableUploadsItsConstantsOnce) {
    Executable executable(convolution_net(), {.device = shadow_device()});
    auto used = [] { return device(shadow_device()).memory().allocated; };
    auto first = executable.program_for({{DType::f32, {2, 16, 9, 9}, {}}});
    size_t before = used();
    auto second = executable.program_for({{DType::f32, {2, 16, 9, 9}, {}}});
    EXPECT_EQ(used(), before);
}

TEST(ShadowPrograms, ErrorsAreThrownByWait) {
    DeviceId device = shadow_device(1, 3);
    auto program =
        Program::compile(convolution_net(), {.device = device, .var_sanity_check_first_run = false});
    auto context = Context::create(program);
    Tensor x = filled({2, 16, 9, 9}, 4);
    context->fill_inputs({&x, 1});
    queue_of(device).wait();
    fail_next_work(device, "out of smoke");
    context->run();
    EXPECT_THROW(context->wait(), DeviceError);
    context->run();
    context->wait();
    expect_equal(context->copy_output(0), run(convolution_net(), {}, x)[0]);
}

}  // namespace
}  // namespace mge::test
