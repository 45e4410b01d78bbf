// SPDX-License-Identifier: Apache-2.0
// Results of cuDNN and cuBLASLt, their layouts and the epilogues of convolutions and products: on a GPU with
// the real libraries, if installed; emulated by fakes with the same restrictions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "libmge/op/backend.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

Tensor filled(const Shape& shape, int seed, DType dtype) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 13) % 23 - 11) / 16;
    return make_tensor(dtype, shape, values);
}

double largest_difference(const Tensor& got, const Tensor& expected) {
    auto a = values_of(to_host(got)), b = values_of(to_host(expected));
    EXPECT_EQ(a.size(), b.size());
    double largest = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        EXPECT_TRUE(std::isfinite(a[i])) << "element " << i;
        largest = std::max(largest, std::abs(a[i] - b[i]));
    }
    return largest;
}

// By dtype what rounding makes of values up to about 8.
double rounding(DType dtype) { return dtype == DType::f32 ? 2e-5 : dtype == DType::f16 ? 2e-2 : 1.2e-1; }

bool has_cudnn(const Program& program) {
    return std::ranges::any_of(program.steps(),
                               [](auto& step) { return step.algorithm.starts_with("cudnn"); });
}
size_t count_steps(const Program& program, std::string_view op, std::string_view algorithm) {
    return size_t(std::ranges::count_if(program.steps(), [&](auto& step) {
        return step.op == op && std::string_view(step.algorithm).starts_with(algorithm);
    }));
}
bool has_channels_last(const Program& program) {
    return std::ranges::any_of(program.values(),
                               [](auto& value) { return value.spec.layout == Layout::named("nhwc"); });
}

// A part of a net: two convolutions with their biases, the second with a residual too; a pool; a depthwise
// one and one of groups.
Tensor part_of_net(const Tensor& x, DType dtype) {
    auto constant = [&](const Shape& shape, int seed) { return filled(shape, seed, dtype); };
    Tensor a = ops::relu(
        ops::add(ops::conv2d(x, constant({8, 3, 3, 3}, 1), {.padding = {1, 1}}), constant({1, 8, 1, 1}, 2)));
    Tensor pooled = ops::max_pool2d(a, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    Tensor b = ops::conv2d(pooled, constant({8, 8, 3, 3}, 3), {.padding = {1, 1}});
    Tensor c = ops::relu(ops::add(ops::add(b, constant({1, 8, 1, 1}, 4)), pooled));
    Tensor d = ops::conv2d(c, constant({8, 1, 1, 3, 3}, 5), {.padding = {1, 1}, .groups = 8});
    Tensor e = ops::conv2d(d, constant({2, 4, 4, 1, 1}, 6), {.groups = 2});
    return ops::avg_pool2d(ops::silu(e), {.kernel = {2, 2}, .stride = {2, 2}});
}
Graph graph_of_part(DType dtype) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    builder.set_outputs({part_of_net(builder.input({dtype, Shape{2, 3, 9, 9}, {}}, "x"), dtype)});
    return builder.take();
}

struct Way {
    DType dtype;
    const char* layout;
    Precision precision = Precision::strict;
    int record_level = 0;
    bool measures = false;
};
CompileOptions options_of(const Way& way) {
    CompileOptions options;
    options.device = gpu();
    options.layout = way.layout;
    options.precision = way.precision;
    options.comp_node_seq_record_level = way.record_level;
    options.var_sanity_check_first_run = !way.record_level;
    options.select.profile = way.measures;
    options.select.heuristic = !way.measures;
    return options;
}

template <class Params>
std::vector<std::string> names_of_candidates(const OpInfo& op, const Params& params, const TensorSpecs& in) {
    TensorSpecs out = op.infer(&params, in);
    Problem p = make_problem(op, &params, in, out);
    p.device = p.output_device = gpu();
    std::vector<std::string> names;
    for (auto& named : list_candidates(find_kernels(op, gpu()), p)) names.push_back(named.candidate.name);
    return names;
}

TEST(CudaLibraries, FusesConvolutionEpilogues) {
    for (auto& way : {Way{DType::f32, "nchw"}, Way{DType::f32, "nhwc"}, Way{DType::f16, "nchw"},
                      Way{DType::f16, "nhwc"}, Way{DType::bf16, "nhwc"}, Way{DType::f16, "auto", {}, 1},
                      Way{DType::f16, "nhwc", {}, 0, true}, Way{DType::f32, "nhwc", Precision::relaxed}}) {
        SCOPED_TRACE(text(way.dtype, ' ', way.layout, ' ', int(way.precision), ' ', way.record_level));
        Tensor x = filled({2, 3, 9, 9}, 7, way.dtype);
        Tensor expected = part_of_net(ops::convert(x, {.dtype = DType::f32}), DType::f32);
        Executable executable(graph_of_part(way.dtype), options_of(way));
        Tensors data{to_device(x, gpu())};
        double tolerance = way.precision == Precision::strict ? rounding(way.dtype) : 2e-2;
        for (int run = 0; run < 3; ++run)
            EXPECT_LE(largest_difference(executable.run(data)[0], expected), tolerance) << "run " << run;
        auto program = Program::compile(graph_of_part(way.dtype), options_of(way));
        if (!has_cudnn(*program)) continue;
        if (!way.measures) {
            EXPECT_EQ(count_steps(*program, "conv2d", "cudnn_fused:"), 2U);
        }
        bool wants_nhwc = way.layout == std::string_view("nhwc") || way.dtype != DType::f32;
        EXPECT_EQ(has_channels_last(*program), wants_nhwc && way.layout != std::string_view("nchw"));
    }
}

TEST(CudaLibraries, StrictFloatsStayPlainOnAGpu) {
    auto program = Program::compile(graph_of_part(DType::f32), options_of({DType::f32, "auto"}));
    EXPECT_FALSE(has_channels_last(*program));
}

// A copy of a weight for channels last is made once where it is constant, else in each run.
TEST(CudaLibraries, GradientsInChannelsLast) {
    GraphBuilder builder;
    auto input = [&](const Shape& shape, const char* name) {
        return builder.input({DType::f16, shape, {}}, name);
    };
    Tensor x = input({2, 4, 7, 7}, "x"), weight = input({6, 4, 3, 3}, "weight"),
           dy = input({2, 6, 4, 4}, "dy");
    {
        InterpreterScope scope(builder);
        ops::Conv2d::Params params{.stride = {2, 2}, .padding = {1, 1}};
        Tensor y = ops::conv2d(x, weight, params);
        // dy behind an operator that follows a layout, so that it can have that of y.
        Tensor d = ops::mul(dy, ops::relu(y));
        Tensor dx = ops::conv2d_backward_data(weight, d, x, {.stride = {2, 2}, .padding = {1, 1}});
        Tensor dw = ops::conv2d_backward_weight(x, d, weight, {.stride = {2, 2}, .padding = {1, 1}});
        builder.set_outputs({y, dx, dw});
    }
    Graph graph = builder.take();
    Tensors data{filled({2, 4, 7, 7}, 1, DType::f16), filled({6, 4, 3, 3}, 2, DType::f16),
                 filled({2, 6, 4, 4}, 3, DType::f16)};
    Tensors expected = Executable(graph, {}).run(data), there;
    for (auto& value : data) there.push_back(to_device(value, gpu()));
    Way way{DType::f16, "nhwc"};
    Tensors got = Executable(graph, options_of(way)).run(there);
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(largest_difference(got[i], expected[i]), rounding(DType::f16)) << "output " << i;
    auto program = Program::compile(graph, options_of(way));
    if (!has_cudnn(*program)) return;
    for (auto* op : {"conv2d", "conv2d_backward_data", "conv2d_backward_weight"})
        EXPECT_EQ(count_steps(*program, op, "cudnn:"), 1U) << op;
    EXPECT_TRUE(has_channels_last(*program));
}

// The plain weight is not needed then; an operand that cuDNN does not support, because it is not aligned, is
// processed by our own kernel, which makes it again.
TEST(CudaLibraries, TransposedWeightsReplacePlainOnes) {
    constexpr DType dtype = DType::f16;
    Tensor weight = filled({6, 8, 3, 3}, 1, dtype), x = filled({2, 8, 9, 9}, 2, dtype),
           biases = filled({7}, 3, dtype);
    const Shape bias_shape{1, 6, 1, 1};
    GraphBuilder builder;
    {
        Tensor image = builder.input(x.spec(), "x"), bias = builder.input({dtype, bias_shape, {}}, "bias");
        InterpreterScope scope(builder);
        builder.set_outputs({ops::conv2d({image, weight, bias}, {.padding = {1, 1}})});
    }
    auto program = Program::compile(builder.take(), options_of({dtype, "nhwc"}));
    if (has_cudnn(*program)) {
        EXPECT_EQ(program->memory().weights, 0U);
        EXPECT_GE(program->memory().packed_weights, weight.spec().bytes());
    }
    auto context = Context::create(program);
    Tensor there = to_device(x, gpu()), biases_there = to_device(biases, gpu());
    auto values = values_of(biases);
    for (size_t first : {0, 1, 0}) {
        context->bind_input(0, there.address());
        context->bind_input(1, static_cast<const char*>(biases_there.address()) + first * size_of(dtype));
        context->run();
        context->wait();
        Tensor bias = make_tensor(DType::f32, bias_shape, {values.data() + first, values.data() + first + 6});
        auto wide = [](const Tensor& narrow) { return ops::convert(narrow, {.dtype = DType::f32}); };
        Tensor expected = ops::conv2d({wide(x), wide(weight), bias}, {.padding = {1, 1}});
        EXPECT_LE(largest_difference(context->output(0), expected), rounding(dtype)) << first;
    }
}

// Quantised convolutions with all that may follow their sums: bias, residual, activation, scales of channels.
Tensor part_of_steps(const Tensor& x) {
    using Conv = ops::QuantizedConv2d;
    auto scale = [](float value) { return tensor_of<float>({1}, {value}); };
    auto weight = [](const Shape& shape, int seed) {
        std::vector<double> values(size_t(shape.numel()));
        for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 37 + seed * 11) % 255 - 127);
        return make_tensor(DType::i8, shape, values);
    };
    auto bias = make_tensor(DType::i32, {1, 8, 1, 1}, {-900, 70'000, 3, 4, -50'000, 6, 7, 800});
    auto scales = make_tensor(DType::f32, {8}, {1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 8e-4});
    Tensor none, steps = ops::quantize(x, scale(0.01f), none, {.dtype = DType::i8});
    Tensor a =
        ops::quantized_conv2d({steps, weight({8, 3, 3, 3}, 1), scales, bias, none, none, none, scale(0.05f)},
                              {.padding = {1, 1}, .activation = Activation::relu});
    Tensor b = ops::quantized_conv2d(
        {a, weight({8, 8, 3, 3}, 2), scale(3e-5f), bias, a, none, none, scale(0.02f), none, scale(0.05f)},
        {.padding = {1, 1}, .activation = Activation::hswish, .rounding = ops::StepRounding::half_even});
    Tensor c = ops::quantized_conv2d(
        {b, weight({8, 1, 1, 3, 3}, 3), scale(3e-4f), none, none, none, none, scale(0.1f)},
        {.stride = {2, 2}, .groups = 8});
    Conv::Params sums;
    sums.groups = 2;
    return ops::quantized_conv2d({c, weight({2, 4, 4, 1, 1}, 4), none, none, none, none, none, none}, sums);
}

TEST(CudaLibraries, StepsHaveTheBitsOfTheCpu) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        builder.set_outputs({part_of_steps(builder.input({DType::f32, Shape{2, 3, 9, 9}, {}}, "x"))});
    }
    Graph graph = builder.take();
    Tensor x = filled({2, 3, 9, 9}, 7, DType::f32);
    auto expected = values_of(part_of_steps(x));
    Tensors data{to_device(x, gpu())};
    for (auto& way : {Way{DType::i8, "nchw"}, Way{DType::i8, "nhwc"}, Way{DType::i8, "auto"},
                      Way{DType::i8, "auto", {}, 1}, Way{DType::i8, "auto", {}, 0, true}}) {
        SCOPED_TRACE(text(way.layout, ' ', way.record_level, ' ', way.measures));
        Executable executable(graph, options_of(way));
        for (int run = 0; run < 3; ++run)
            EXPECT_EQ(values_of(to_host(executable.run(data)[0])), expected) << "run " << run;
        auto program = Program::compile(graph, options_of(way));
        if (!has_cudnn(*program) || way.measures) continue;
        EXPECT_EQ(count_steps(*program, "quantized_conv2d", "cudnn:"), 4U);
        EXPECT_EQ(has_channels_last(*program), way.layout != std::string_view("nchw"));
    }
}

// One head beside the other, as nets spell it.
Graph attention_of_heads() {
    constexpr int64_t batch = 2, words = 9, heads = 3, width = 8, all = heads * width;
    GraphBuilder builder;
    InterpreterScope scope(builder);
    Tensor x = builder.input({DType::f32, {batch, words, all}, {}}, "x");
    auto part = [&](int seed) {
        Tensor y = ops::matmul(x, filled({all, all}, seed, DType::f32));
        Tensor apart = ops::reshape(y, {.shape = {batch, words, heads, width}});
        return ops::transpose(apart, {.pattern = {0, 2, 1, 3}});
    };
    Tensor q = part(1), k = part(2), v = part(3);
    Tensor scores = ops::mul(ops::matmul(q, k, {.transpose_b = true}), tensor_of<float>({1}, {0.125f}));
    Tensor y = ops::matmul(ops::softmax(scores, {.axis = -1}), v);
    builder.set_outputs(
        {ops::reshape(ops::transpose(y, {.pattern = {0, 2, 1, 3}}), {.shape = {batch, words, all}})});
    return builder.take();
}

TEST(CudaLibraries, FastModelsUseBf16AndEngineAttention) {
    Graph graph = attention_of_heads();
    Tensor x = filled({2, 9, 24}, 7, DType::f32);
    Tensor expected = Executable(graph, {}).run(Tensors{x})[0];
    const TensorSpec heads{DType::bf16, {2, 3, 9, 8}, {}};
    auto names = names_of_candidates(ops::Attention::info, ops::AttentionParams{}, {heads, heads, heads});
    const bool has_engines = std::ranges::any_of(names, [](auto& n) { return n.starts_with("cudnn:"); });
    for (bool measures : {false, true}) {
        auto options = options_of({DType::f32, "auto", Precision::fast, 0, measures});
        Tensor y = Executable(graph, options).run(Tensors{to_device(x, gpu())})[0];
        EXPECT_EQ(y.dtype(), DType::f32);
        EXPECT_LE(largest_difference(y, expected), rounding(DType::bf16));
        auto program = Program::compile(graph, options);
        EXPECT_TRUE(std::ranges::any_of(program->values(),
                                        [](auto& value) { return value.spec.dtype == DType::bf16; }));
        EXPECT_EQ(count_steps(*program, "attention", ""), measures && has_engines ? 1U : 0U);
    }
}

// Our own kernel computes unaligned operands, and those for which cuDNN makes no plan. A recorded run keeps
// the numbers that a plan reads from the host.
TEST(CudaLibraries, AttentionOfVariousOperands) {
    constexpr DType dtype = DType::f16;
    const Shape shape{2, 3, 9, 8};
    constexpr int64_t apart = 8;  // distance in elements of two aligned operands
    Tensor all = filled({shape.numel() + apart}, 1, dtype), there = to_device(all, gpu());
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor q = builder.input({dtype, shape, {}}, "q"), k = builder.input({dtype, shape, {}}, "k");
        builder.set_outputs({ops::attention(q, k, k, {.scale = 0.7, .causal = true, .from_end = true})[0]});
    }
    Graph graph = builder.take();
    auto part = [&](int64_t first) {
        auto values = values_of(all);
        return make_tensor(DType::f32, shape, {values.data() + first, values.data() + first + shape.numel()});
    };
    for (auto& name : names_of_candidates(ops::Attention::info, ops::AttentionParams{.causal = true},
                                          TensorSpecs(3, {dtype, shape, {}})))
        for (int level : {0, 1}) {
            SCOPED_TRACE(text(name, ' ', level));
            CompileOptions options = options_of({dtype, "auto", {}, level});
            options.select.forced = name;
            auto context = Context::create(Program::compile(graph, options));
            for (int64_t first : {apart, int64_t(1), apart, apart}) {
                context->bind_input(0, there.address());
                context->bind_input(1, static_cast<const char*>(there.address()) + first * size_of(dtype));
                context->run();
                context->wait();
                Tensor k = part(first);
                Tensor expected =
                    ops::attention(part(0), k, k, {.scale = 0.7, .causal = true, .from_end = true})[0];
                EXPECT_LE(largest_difference(context->output(0), expected), rounding(dtype)) << first;
            }
        }
}

TEST(CudaLibraries, GeluAfterAProduct) {
    auto apply = [](const Tensor& x, DType dtype) {
        Tensor sums = ops::add(ops::matmul(x, filled({33, 24}, 1, dtype)), filled({24}, 2, dtype));
        return ops::gelu(sums);
    };
    for (DType dtype : {DType::f32, DType::f16})
        for (auto precision : {Precision::strict, Precision::relaxed}) {
            GraphBuilder builder;
            {
                InterpreterScope scope(builder);
                builder.set_outputs({apply(builder.input({dtype, Shape{16, 33}, {}}, "x"), dtype)});
            }
            Tensor x = filled({16, 33}, 3, dtype);
            Tensor expected = apply(ops::convert(x, {.dtype = DType::f32}), DType::f32);
            Executable executable(builder.take(), options_of({dtype, "auto", precision}));
            Tensors data{to_device(x, gpu())};
            double difference = largest_difference(executable.run(data)[0], expected);
            bool is_exact = precision == Precision::strict && dtype == DType::f32;
            EXPECT_LE(difference, is_exact ? 2e-5 : 1e-2) << dtype << ' ' << int(precision);
        }
}

}  // namespace
}  // namespace mge::test
