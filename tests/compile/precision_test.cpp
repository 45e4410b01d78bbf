// SPDX-License-Identifier: Apache-2.0
// Effects of `precision`: relaxed rounds the factors of products and nothing else, fast stores values between
// steps so as well, and neither does anything where the processor has no units for it.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

bool has_tiles() { return cpu_isa() >= Isa::amx; }

Tensor noise(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = uniform(random);
    return constant(shape, values);
}

Tensor rounded(const Tensor& x) {
    return ops::convert(ops::convert(x, {.dtype = DType::bf16}), {.dtype = DType::f32});
}

// A product of two factors and what is added to it.
struct Case {
    std::string name;
    Shape x, weight;
    std::function<Tensor(const Tensor& x, const Tensor& weight, bool has_sums)> product;
};

std::vector<Case> cases() {
    auto convolution = [](ops::Conv2d::Params params) {
        return [=](const Tensor& x, const Tensor& weight, bool has_sums) {
            int64_t channels = weight.shape()[0];
            Tensor bias = has_sums ? noise({1, channels, 1, 1}, 4) : Tensor();
            return ops::relu(ops::conv2d(x, weight, bias, {}, params));
        };
    };
    auto product = [](Activation activation) {
        return [=](const Tensor& x, const Tensor& weight, bool has_sums) {
            int64_t columns = weight.shape()[weight.shape().rank() - 1];
            Tensor bias = has_sums ? noise({columns}, 4) : Tensor();
            return ops::matmul(x, weight, bias, {}, {.activation = activation});
        };
    };
    return {{"pixels", {1, 32, 9, 9}, {48, 32, 1, 1}, convolution({})},
            {"windows", {2, 16, 13, 13}, {32, 16, 3, 3}, convolution({.padding = {1, 1}})},
            {"colours", {1, 3, 17, 17}, {16, 3, 3, 3}, convolution({.stride = {2, 2}})},
            {"odd channels", {1, 7, 8, 8}, {13, 7, 3, 3}, convolution({.padding = {1, 1}})},
            {"matrix", {33, 70}, {70, 45}, product(Activation::none)},
            {"gelu", {48, 64}, {64, 96}, product(Activation::gelu)},
            {"batch", {3, 24, 40}, {3, 40, 56}, product(Activation::none)}};
}

Graph graph_of(const Case& each, bool rounds, bool has_sums) {
    Tensor weight = noise(each.weight, 2);
    if (rounds) weight = rounded(weight);
    return record({f32(each.x)},
                  [&](const Tensors& x) { return Tensors{each.product(x[0], weight, has_sums)}; });
}

void expect_close(const Tensor& got, const Tensor& expected, double tolerance) {
    ASSERT_EQ(got.shape(), expected.shape());
    double largest = 0, error = 0;
    for (int64_t i = 0; i < got.spec().numel(); ++i) {
        double e = expected.data<float>()[i];
        largest = std::max(largest, std::abs(e));
        error = std::max(error, std::abs(got.data<float>()[i] - e));
    }
    EXPECT_LE(error, tolerance * largest);
}

CompileOptions with(Precision precision) {
    CompileOptions o;
    o.precision = precision;
    return o;
}

// The names of the algorithms that round the factors of a graph's products.
std::vector<std::string> rounding(const Graph& source) {
    PassOptions passes;
    passes.precision = Precision::relaxed;
    std::vector<std::string> names;
    for (const char* layout : {"nchw", "nhwc"}) {
        passes.layout = layout;
        Graph graph = run_passes(source, passes);
        for (auto& node : graph.nodes()) {
            if (node.op->autocast != Autocast::narrow) continue;
            NodeProblem node_problem(*node.op, node.params, operands_of(graph, node), 2, Precision::relaxed);
            for (auto& algorithm : node_problem.kernels()) {
                if (std::string_view(algorithm.name) != "in_bf16") continue;
                if (!algorithm.supports(node_problem.problem())) continue;
                for (auto& candidate : algorithm.candidates(node_problem.problem()))
                    names.push_back(candidate.name);
            }
        }
    }
    return names;
}

TEST(Precision, RelaxedIsTheStrictProductOfRoundedFactors) {
    for (auto& each : cases())
        for (bool has_sums : {false, true}) {
            SCOPED_TRACE(text(each.name, has_sums ? " with sums" : ""));
            Tensor x = noise(each.x, 1);
            Tensor expected = run(graph_of(each, true, has_sums), with(Precision::strict), {rounded(x)})[0];
            Graph graph = graph_of(each, false, has_sums);
            auto names = rounding(graph);
            EXPECT_EQ(names.empty(), cpu_isa() < Isa::avx512_bf16);
            for (auto& name : names) {
                SCOPED_TRACE(name);
                for (const char* layout : {"nchw", "nhwc"}) {
                    CompileOptions o = with(Precision::relaxed);
                    o.layout = layout;
                    auto program = Program::compile(graph, o);
                    std::vector<std::string> algorithms;
                    bool is_listed = false;
                    for (auto& step : program->steps()) {
                        bool is_product = step.op == "conv2d" || step.op == "matmul";
                        algorithms.push_back(is_product ? name : "");
                    }
                    o.algorithms = algorithms;
                    try {
                        program = Program::compile(graph, o);
                        is_listed = true;
                    } catch (const DeviceError&) {  // a candidate of the other layout
                    }
                    if (is_listed) expect_close(run(graph, o, {x})[0], expected, 2e-5);
                }
            }
        }
}

TEST(Precision, TheHeuristicsTakeTilesOnly) {
    for (auto& each : cases()) {
        SCOPED_TRACE(each.name);
        auto program = Program::compile(graph_of(each, false, true), with(Precision::relaxed));
        bool any = false;
        for (auto& step : program->steps()) any = any || step.algorithm.starts_with("bf16:");
        EXPECT_TRUE(has_tiles() || !any);
        bool is_small =
            each.name != "windows" && each.name != "gelu";  // for kernels of f32 that need no call
        EXPECT_TRUE(is_small || any == has_tiles());
        for (auto& value : program->values()) EXPECT_EQ(value.spec.dtype, DType::f32);
        auto strict = Program::compile(graph_of(each, false, true), with(Precision::strict));
        for (auto& step : strict->steps()) EXPECT_FALSE(step.algorithm.starts_with("bf16:"));
    }
}

TEST(Precision, ConvolutionsOfSingleChannelsStayF32) {
    Graph graph = record({f32({1, 32, 14, 14})}, [](const Tensors& x) {
        return Tensors{ops::conv2d(x[0], noise({32, 1, 1, 3, 3}, 2), {.padding = {1, 1}, .groups = 32})};
    });
    if (has_tiles()) {
        EXPECT_EQ(rounding(graph), std::vector<std::string>{});
    }
}

TEST(Precision, FastStoresValuesBetweenStepsAsBf16) {
    Graph graph = record({f32({1, 16, 12, 12})}, [](const Tensors& x) {
        ops::Conv2d::Params same{.padding = {1, 1}};
        Tensor first = ops::relu(ops::conv2d(x[0], noise({16, 16, 3, 3}, 1), same));
        Tensor second = ops::conv2d(first, noise({16, 16, 3, 3}, 2), same);
        return Tensors{ops::relu(ops::add(second, first))};
    });
    auto program = Program::compile(graph, with(Precision::fast));
    bool stores = false;
    for (auto& value : program->values()) stores = stores || value.spec.dtype == DType::bf16;
    EXPECT_EQ(stores, has_tiles());
    EXPECT_EQ(program->outputs()[0].spec.dtype, DType::f32);
    Tensors x{noise({1, 16, 12, 12}, 5)};
    Tensor strict = run(graph, with(Precision::strict), x)[0], fast = run(graph, with(Precision::fast), x)[0];
    expect_close(fast, strict, 1e-2);
    CompileOptions none = with(Precision::fast);
    none.level = 0;
    auto plain = Program::compile(graph, none);
    for (auto& value : plain->values()) EXPECT_EQ(value.spec.dtype, DType::f32);
}

TEST(Precision, IsListedWhereItDoesNothing) {
    Graph sums = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    auto ignored = Program::compile(sums, with(Precision::fast))->options_without_effect();
    ASSERT_EQ(ignored.size(), 1u);
    EXPECT_EQ(ignored[0].option, "precision");
    for (auto precision : {Precision::relaxed, Precision::fast}) {
        auto program = Program::compile(conv_net(), with(precision));
        auto is_rounding = [](auto& step) { return step.algorithm.starts_with("bf16:"); };
        auto is_stored = [](auto& value) { return value.spec.dtype == DType::bf16; };
        bool rounds = std::ranges::any_of(program->steps(), is_rounding) ||
                      std::ranges::any_of(program->values(), is_stored);
        EXPECT_TRUE(!rounds || has_tiles());
        EXPECT_EQ(program->options_without_effect().size(), rounds ? 0u : 1u);
    }
}

TEST(Precision, GuardsAllowForIt) {
    for (auto precision : {Precision::relaxed, Precision::fast}) {
        CompileOptions o = with(precision);
        o.level = -2;
        EXPECT_NO_THROW(run(conv_net(), o, {noise(conv_net().value(conv_net().inputs()[0]).spec.shape, 7)}));
    }
}

}  // namespace
}  // namespace mge::test
