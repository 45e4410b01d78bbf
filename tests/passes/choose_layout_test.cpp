// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor ramp(const Shape& shape, int seed = 1) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

int count(const Graph& graph, std::string_view op) {
    int n = 0;
    for (auto& node : graph.nodes()) n += node.op->name == op;
    return n;
}

// Every layout has to give what the plain graph gives.
void expect_same_results(const Graph& graph, const Tensors& inputs) {
    CompileOptions plain;
    plain.layout = "nchw";
    plain.threads = 1;  // the result does not depend on it, and a busy machine runs it sooner
    Tensors expected = Executable(graph, plain).run(inputs);
    for (const char* layout : {"auto", "nhwc", "nChw8c", "nChw16c"}) {
        SCOPED_TRACE(layout);
        CompileOptions options;
        options.layout = layout;
        options.threads = 1;
        options.verify_passes = true;
        Tensors got = Executable(graph, options).run(inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].spec(), expected[i].spec());
            for (int64_t k = 0; k < got[i].spec().numel(); ++k)
                ASSERT_NEAR(got[i].data<float>()[k], expected[i].data<float>()[k],
                            1e-4 * (1 + std::abs(expected[i].data<float>()[k])))
                    << "output " << i << " element " << k;
        }
    }
}

// Two blocks of a residual network: a first convolution of few colours, shortcuts, one of them projected.
Tensors residual_network(const Tensors& x) {
    Tensor y = ops::relu(ops::conv2d(x[0], ramp({32, 3, 3, 3}), {.stride = {2, 2}, .padding = {1, 1}}));
    y = ops::max_pool2d(y, {.kernel = {2, 2}, .stride = {2, 2}});
    Tensor a = ops::relu(ops::conv2d(y, ramp({32, 32, 3, 3}), {.padding = {1, 1}}));
    y = ops::relu(ops::add(ops::conv2d(a, ramp({32, 32, 3, 3}, 5), {.padding = {1, 1}}), y));
    Tensor shortcut = ops::conv2d(y, ramp({48, 32, 1, 1}));
    y = ops::relu(ops::add(ops::conv2d(y, ramp({48, 32, 3, 3}, 3), {.padding = {1, 1}}), shortcut));
    Tensor pooled = ops::mean(y, {.axes = {2, 3}});
    return {ops::matmul(pooled, ramp({48, 10})), y};
}

TEST(ChooseLayout, PutsReordersOnlyAtTheBorders) {
    PassOptions options;
    options.layout = cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c";
    Graph graph = record({f32({1, 3, 32, 32})}, residual_network);
    for (auto& pass : pipeline())
        if (pass.level != on_request) graph = pass.run(std::move(graph), options);
    verify(graph);
    // For the image among the outputs.
    EXPECT_EQ(count(graph, "reorder"), 1) << to_text(graph);
    EXPECT_EQ(count(graph, "relu"), 0) << to_text(graph);
    EXPECT_EQ(count(graph, "add"), 0) << to_text(graph);
}

// Steps in, steps out: two convolutions, one with channels of its own, and a shortcut.
Tensors quantised_network(const Tensors& x) {
    auto number = [](float value) { return constant({1}, {value}); };
    auto steps = [&](const Shape& shape, int seed) {
        return ops::quantize(ramp(shape, seed), number(0.01f), Tensor(), {.dtype = DType::i8});
    };
    Tensor a = ops::quantize(x[0], number(0.02f), Tensor(), {.dtype = DType::i8}), none;
    auto convolve = [&](const Tensor& from, const Tensor& weight, const ops::QuantizedConv2d::Params& p) {
        return ops::quantized_conv2d({from, weight, number(2e-4f), none, none, none, none, number(0.02f)}, p);
    };
    Tensor b = convolve(a, steps({24, 24, 3, 3}, 1), {.padding = {1, 1}, .activation = Activation::relu});
    Tensor c = convolve(b, steps({24, 1, 1, 3, 3}, 2), {.padding = {1, 1}, .groups = 24});
    Tensor sum = ops::quantized_add({a, c, number(0.02f), number(0.02f), number(0.03f)});
    return {ops::dequantize(sum, number(0.03f))};
}

// Their channels-last kernels need byte products.
TEST(ChooseLayout, PutsReordersOnlyAroundQuantisedNetworks) {
    PassOptions options;
    Graph graph = record({f32({1, 24, 9, 9})}, quantised_network);
    for (auto& pass : pipeline())
        if (pass.level != on_request) graph = pass.run(std::move(graph), options);
    verify(graph);
    EXPECT_EQ(count(graph, "reorder"), 2) << to_text(graph);
    expect_same_results(record({f32({1, 24, 9, 9})}, quantised_network), {ramp({1, 24, 9, 9})});
}

TEST(ChooseLayout, ComputesTheSameInEveryLayout) {
    Graph graph = record({f32({2, 3, 32, 32})}, residual_network);
    expect_same_results(graph, {ramp({2, 3, 32, 32}, 9)});
}

// Half of the image's size and back, beside what was seen on the way.
Tensors network_with_skip(const Tensors& x) {
    Tensor seen = ops::relu(ops::conv2d(x[0], ramp({32, 3, 3, 3}), {.padding = {1, 1}}));
    Tensor y = ops::max_pool2d(seen, {.kernel = {2, 2}, .stride = {2, 2}});
    y = ops::relu(ops::conv2d(y, ramp({48, 32, 3, 3}), {.padding = {1, 1}}));
    y = ops::conv2d_backward_data(ramp({48, 32, 2, 2}), y, {.stride = {2, 2}});
    y = ops::concat({ops::add(y, ramp({1, 32, 1, 1})), seen}, {.axis = 1});
    return {ops::mean(ops::conv2d(y, ramp({16, 64, 3, 3}), {.padding = {1, 1}}), {.axes = {2, 3}})};
}

TEST(ChooseLayout, GoesThroughTransposedConvolutions) {
    Graph graph = record({f32({1, 3, 16, 24})}, network_with_skip);
    expect_same_results(graph, {ramp({1, 3, 16, 24}, 9)});
    PassOptions options;
    options.layout = cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c";
    for (auto& pass : pipeline())
        if (pass.level != on_request) graph = pass.run(std::move(graph), options);
    verify(graph);
    EXPECT_EQ(count(graph, "reorder"), 0) << to_text(graph);
}

// A training step: two convolutions backwards, and the operators between them.
Tensors gradients(const Tensors& in) {
    const Tensor &x = in[0], &first = in[1], &second = in[2], &dy = in[3];
    Tensor y = ops::relu(ops::conv2d(x, first, {.padding = {1, 1}}));
    Tensor grad = ops::mul(ops::conv2d_backward_data(second, dy, y, {.padding = {1, 1}}), y);
    return {ops::conv2d_backward_weight(y, dy, second, {.padding = {1, 1}}),
            ops::conv2d_backward_weight(x, grad, first, {.padding = {1, 1}})};
}

TEST(ChooseLayout, GoesThroughGradients) {
    PassOptions options;
    options.layout = cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c";
    Graph graph =
        record({f32({2, 16, 9, 9}), f32({32, 16, 3, 3}), f32({16, 32, 3, 3}), f32({2, 16, 9, 9})}, gradients);
    expect_same_results(graph, {ramp({2, 16, 9, 9}), ramp({32, 16, 3, 3}, 2), ramp({16, 32, 3, 3}, 3),
                                ramp({2, 16, 9, 9}, 4)});
    if (cpu_isa() < Isa::avx2) GTEST_SKIP() << "oneDNN has no gradients in blocks for SSE4";
    Graph spread = choose_layout(std::move(graph), options);
    verify(spread);
    EXPECT_EQ(count(spread, "reorder"), 2) << to_text(spread);  // x and dy, which each have two readers
}

// oneDNN multiplies tiles of bf16 in channels-last images only.
TEST(ChooseLayout, ChoosesTileLayoutForHalves) {
    if (cpu_isa() < Isa::avx512_bf16) GTEST_SKIP() << "computes bf16 in f32";
    TensorSpec image{DType::bf16, {2, 32, 9, 9}, {}}, weight{DType::bf16, {32, 32, 3, 3}, {}};
    Graph graph = choose_layout(record({image, weight, weight, image}, gradients), {});
    const Layout expected = Layout::named(cpu_isa() >= Isa::amx ? "nhwc" : "nChw16c");
    EXPECT_EQ(count(graph, "reorder"), 2) << to_text(graph);
    for (auto& node : graph.nodes()) {
        auto& spec = graph.value(node.outputs[0]).spec;
        if (spec.shape == image.shape) {
            EXPECT_EQ(spec.layout, expected) << to_text(graph);
        }
    }
}

// Blocks of 16 hold 72 channels in 80, where a product with one value per channel has to leave the layout.
TEST(ChooseLayout, FillsWholeVectors) {
    if (cpu_isa() < Isa::avx512) GTEST_SKIP() << "blocks of 8 are whole vectors here";
    Graph graph = record({f32({1, 24, 28, 28})}, [](const Tensors& x) {
        Tensor y = ops::relu(ops::conv2d(x[0], ramp({72, 24, 1, 1})));
        Tensor gate = ops::sigmoid(ops::mean(y, {.axes = {2, 3}, .keepdims = true}));
        return Tensors{ops::conv2d(ops::mul(y, gate), ramp({40, 72, 1, 1}))};
    });
    Graph chosen = choose_layout(std::move(graph), {});
    EXPECT_TRUE(std::ranges::none_of(chosen.values(), [](auto& value) {
        return value.spec.layout == Layout::named("nChw8c");
    })) << to_text(chosen);
}

// Our own loops for them know plain images only, and are as fast there as a library is on any.
TEST(ChooseLayout, KeepsSmallConvolutionsPlain) {
    auto network = [](int64_t channels) {
        return [channels](const Tensors& x) {
            Tensor y = ops::relu(ops::conv2d(x[0], ramp({channels, 1, 5, 5}), {.padding = {2, 2}}));
            y = ops::max_pool2d(y, {.kernel = {2, 2}, .stride = {2, 2}});
            return Tensors{ops::relu(ops::conv2d(y, ramp({16, channels, 5, 5})))};
        };
    };
    auto chosen = [&](int64_t channels) {
        return choose_layout(record({f32({1, 1, 28, 28})}, network(channels)), {});
    };
    EXPECT_EQ(count(chosen(6), "reorder"), 0) << to_text(chosen(6));
    EXPECT_GT(count(chosen(96), "reorder"), 0) << to_text(chosen(96));
    expect_same_results(record({f32({1, 1, 28, 28})}, network(6)), {ramp({1, 1, 28, 28})});
}

TEST(ChooseLayout, LeavesGraphsWithoutConvolutions) {
    Body body = [](const Tensors& x) { return Tensors{ops::relu(x[0])}; };
    expect_rewrite(choose_layout, {f32({1, 16, 4, 4})}, body, body);
}

// Channels that fill no blocks, squeeze and excitation, joins, splits and what only plain kernels can do.
TEST(ChooseLayout, ComputesAroundOperatorsThatCannotFollow) {
    auto body = [](const Tensors& x) {
        Tensor y = ops::conv2d(x[0], ramp({24, 3, 3, 3}), {.padding = {1, 1}});
        Tensor depthwise = ops::conv2d(y, ramp({24, 1, 1, 3, 3}), {.padding = {1, 1}, .groups = 24});
        Tensor wide = ops::silu(ops::conv2d(depthwise, ramp({32, 24, 1, 1})));
        Tensor squeezed = ops::mean(wide, {.axes = {2, 3}, .keepdims = true});
        Tensor excited = ops::mul(wide, ops::sigmoid(ops::conv2d(squeezed, ramp({32, 32, 1, 1}))));
        Tensor joined = ops::concat({excited, wide}, {.axis = 1});
        Tensors parts = ops::split(joined, {.axis = 1, .sizes = {16, 48}});
        Tensor odd = ops::add(y, ramp({1, 24, 1, 1}));
        Tensor rows = ops::flip(parts[1], {.axes = {2}});
        return Tensors{parts[0], rows, odd, ops::sum(excited, {.axes = {1}}), ops::mean(wide)};
    };
    expect_same_results(record({f32({1, 3, 9, 7})}, body), {ramp({1, 3, 9, 7}, 4)});
}

// A normalisation that no convolution takes in, because its input is read elsewhere too.
TEST(ChooseLayout, NormalisesInTheLayout) {
    for (bool training : {false, true}) {
        auto body = [&](const Tensors& x) {
            Tensor y = ops::conv2d(x[0], ramp({32, 3, 3, 3}), {.padding = {1, 1}});
            Shape channels{1, 32, 1, 1};
            Tensors normal = ops::batch_norm(y, ramp(channels), ramp(channels, 3), ramp(channels, 5),
                                             ramp(channels, 2), {.training = training});
            Tensor z = ops::conv2d(ops::relu(normal[0]), ramp({32, 32, 3, 3}), {.padding = {1, 1}});
            return Tensors{ops::add(y, z), normal[1], normal[2]};
        };
        Graph graph = record({f32({2, 3, 9, 8})}, body);
        expect_same_results(graph, {ramp({2, 3, 9, 8}, 4)});
        PassOptions options;
        options.layout = cpu_isa() >= Isa::avx512 ? "nChw16c" : "nChw8c";
        for (auto& pass : pipeline())
            if (pass.level != on_request) graph = pass.run(std::move(graph), options);
        // After the last sum. On Arm also before both operands of the second convolution.
        EXPECT_EQ(count(graph, "reorder"), cpu_isa() < Isa::sse4 ? 3 : 1) << to_text(graph);
    }
}

TEST(PhysicalForm, IsAnotherShape) {
    Layout blocked = Layout::named("nChw16c");
    TensorSpec image{DType::f32, {2, 32, 4, 5}, blocked};
    auto params = ops::Add::info.params.make();
    auto form = physical_form(ops::Add::info, params, {image, f32({1, 32, 1, 1})}, {image});
    ASSERT_TRUE(form);
    EXPECT_EQ(form->inputs[0], f32({2, 2, 4, 5, 16}));
    EXPECT_EQ(form->inputs[1], f32({1, 2, 1, 1, 16}));
    EXPECT_EQ(form->outputs[0], f32({2, 2, 4, 5, 16}));
    // A plain image has another layout, padded channels would be visible, and the result must have the
    // layout.
    EXPECT_FALSE(physical_form(ops::Add::info, params, {image, f32({2, 32, 4, 5})}, {image}));
    TensorSpec padded{DType::f32, {2, 24, 4, 5}, blocked};
    EXPECT_FALSE(physical_form(ops::Add::info, params, {padded, padded}, {padded}));
    TensorSpec single{DType::f32, {2, 1, 4, 5}, image.layout};
    EXPECT_FALSE(physical_form(ops::Add::info, params, {single, single}, {single}));
    EXPECT_FALSE(physical_form(ops::Add::info, params, {image, image}, {f32({2, 32, 4, 5})}));
}

// A single channel in blocks is padded to a whole block, which counts as no element.
TEST(ChooseLayout, CountsOneChannelOnce) {
    auto body = [](const Tensors& x) {
        Tensor one = constant({1, 1, 1, 1}, {1}), y = ops::conv2d(x[0], constant({1, 8, 1, 1}, {1, 2, -1}));
        Tensors normalised = ops::batch_norm(y, one, one, one, one, {.training = true});
        return Tensors{ops::sum(y, {.axes = {1, 2, 3}}), ops::max(y, {.axes = {1, 3}}),
                       ops::mean(ops::relu(normalised[0])), normalised[1], normalised[2]};
    };
    Tensors x{constant({2, 8, 3, 5}, {1, -2, 0.5, 3, 7})}, expected = body(x);
    for (auto layout : {"nchw", "nhwc", "nChw8c", "nChw16c"}) {
        CompileOptions options;
        options.layout = layout;
        Tensors got = Executable(record({f32({2, 8, 3, 5})}, body), options).run(x);
        for (size_t i = 0; i < got.size(); ++i)
            for (int64_t k = 0; k < got[i].spec().numel(); ++k)
                EXPECT_NEAR(got[i].data<float>()[k], expected[i].data<float>()[k], 1e-3)
                    << layout << ' ' << i;
    }
}

}  // namespace
}  // namespace mge::test
