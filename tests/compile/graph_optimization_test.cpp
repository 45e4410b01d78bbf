// SPDX-License-Identifier: Apache-2.0
// Effects of the switches of graph optimisation on steps and memory of a program.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "tests/compile/small_nets.h"

namespace mge::test {
namespace {

TEST(FuseConvBiasNonlinearity, HasThreeStates) {
    Graph graph = conv_net();
    CompileOptions on = options(0), off = options(2), unset = options(2);
    on.switches.fuse_bias = true;
    off.switches.fuse_bias = false;
    for (auto* o : {&on, &off, &unset}) o->switches.fuse_residual = false;
    EXPECT_EQ(count_steps(graph, on), 5u) << "also at level 0";
    EXPECT_EQ(count_steps(graph, on, "conv2d"), 3u);
    EXPECT_EQ(count_steps(graph, off), 10u);
    EXPECT_EQ(count_steps(graph, unset), 5u);
    unset.level = 0;
    EXPECT_EQ(count_steps(graph, unset), 10u);
    Tensors x{ramp({2, 16, 12, 12}, 5)};
    expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
}

TEST(FuseConvBiasWithZ, HasThreeStates) {
    Graph graph = conv_net();
    CompileOptions on = options(0), off = options(2), unset = options(2);
    for (auto* o : {&on, &off, &unset}) o->switches.fuse_bias = true;
    on.switches.fuse_residual = true;
    off.switches.fuse_residual = false;
    EXPECT_EQ(count_steps(graph, on), 3u) << "its ReLU as well";
    EXPECT_EQ(count_steps(graph, off), 5u);
    EXPECT_EQ(count_steps(graph, unset), 3u);
    Tensors x{ramp({2, 16, 12, 12}, 5)};
    expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
}

TEST(FuseConvBiasNonlinearity, OtherOperatorsFollowTheLevel) {
    Graph graph = record({f32({2, 3})}, [](const Tensors& x) {
        return Tensors{ops::relu(ops::add(ops::matmul(x[0], ramp({3, 4})), ramp({4})))};
    });
    CompileOptions off = options(2), on = options(0);
    off.switches.fuse_bias = false;
    on.switches.fuse_bias = true;
    EXPECT_EQ(count_steps(graph, off), 1u);
    EXPECT_EQ(count_steps(graph, on), 3u);
}

// sum(x · y + exp(z))
Tensor sum_of_products(const Tensors& x) { return ops::sum(ops::add(ops::mul(x[0], x[1]), ops::exp(x[2]))); }
const TensorSpecs three{f32({64, 64}), f32({64, 64}), f32({64, 64})};
Tensors three_ramps() { return {ramp({64, 64}, 1), ramp({64, 64}, 2), ramp({64, 64}, 3)}; }

CompileOptions with_jit(int level, std::optional<int> jit) {
    CompileOptions o = options(level);
    o.switches.fuse_elementwise = jit;
    return o;
}

TEST(Jit, HasLevels) {
    Graph graph = record(three, [](const Tensors& x) { return Tensors{sum_of_products(x)}; });
    EXPECT_EQ(count_steps(graph, with_jit(2, 0)), 4u);
    EXPECT_EQ(count_steps(graph, with_jit(0, 1)), 2u) << "on: at every level";
    EXPECT_EQ(count_steps(graph, with_jit(0, 2)), 1u);
    EXPECT_EQ(count_steps(graph, with_jit(0, std::nullopt)), 4u);
    EXPECT_EQ(count_steps(graph, with_jit(1, std::nullopt)), 4u);
    EXPECT_EQ(count_steps(graph, with_jit(2, std::nullopt)), 1u);
    EXPECT_EQ(count_steps(graph, with_jit(3, std::nullopt)), 1u);
    auto sources = [](const StepReport& step) {
        std::vector<NodeId> ids;
        for (auto& source : step.sources) ids.push_back(source.id);
        return ids;
    };
    EXPECT_EQ(sources(Program::compile(graph, with_jit(0, 2))->steps()[0]),
              (std::vector<NodeId>{0, 1, 2, 3}));
    auto two = Program::compile(graph, with_jit(0, 1));
    EXPECT_EQ(sources(two->steps()[0]), (std::vector<NodeId>{0, 1, 2}));
    EXPECT_EQ(sources(two->steps()[1]), (std::vector<NodeId>{3}));
    Tensor expected = run(graph, with_jit(0, 0), three_ramps())[0];
    for (int jit : {1, 2}) expect_near(run(graph, with_jit(0, jit), three_ramps())[0], expected);
}

TEST(Jit, FusesGradients) {
    Graph graph = record(three, [](const Tensors& x) { return Tensors{sum_of_products(x)}; });
    ValueId dy = graph.add_constant(scalar_tensor(1, DType::f32));
    graph.set_outputs(add_gradient(graph, graph.outputs(), {dy}, graph.inputs()));
    Tensors expected = run(graph, with_jit(0, 0), three_ramps());
    for (int jit : {1, 2}) {
        EXPECT_LT(count_steps(graph, with_jit(2, jit)), count_steps(graph, with_jit(2, 0)));
        Tensors got = run(graph, with_jit(2, jit), three_ramps());
        for (size_t i = 0; i < 3; ++i) expect_near(got[i], expected[i]);
    }
}

TEST(Jit, KeepsSharedValuesOutside) {
    Graph graph = record(three, [](const Tensors& x) {
        Tensor product = ops::mul(x[0], x[1]);
        return Tensors{ops::sum(ops::add(product, ops::exp(x[2]))), product};
    });
    auto program = Program::compile(graph, with_jit(2, 2));
    ASSERT_EQ(program->steps().size(), 2u);
    EXPECT_EQ(program->steps()[0].op, "mul");
    EXPECT_EQ(program->steps()[1].sources.size(), 3u);
}

// exp, a transposition, an addition, a sum: which of them are one step.
TEST(Switches, TransposeAndReductionSwitchesOverrideTheLevel) {
    Graph graph = record({f32({60, 40}), f32({40, 60})}, [](const Tensors& x) {
        return Tensors{ops::sum(ops::add(ops::transpose(ops::exp(x[0]), {.pattern = {1, 0}}), x[1]))};
    });
    Tensors inputs{ramp({60, 40}, 1), ramp({40, 60}, 2)};
    Tensor expected = run(graph, with_jit(0, 0), inputs)[0];
    using Switch = std::optional<bool>;
    constexpr auto unset = std::nullopt;
    struct Row {
        Switch dimshuffle, reduce;
        std::array<size_t, 3> steps;  // with jit 0, 1 and 2
    };
    for (auto& [dimshuffle, reduce, steps] :
         {Row{unset, unset, {4, 2, 3}}, Row{unset, false, {4, 2, 4}}, Row{unset, true, {3, 1, 3}},
          Row{false, unset, {4, 4, 3}}, Row{false, false, {4, 4, 4}}, Row{false, true, {3, 3, 3}},
          Row{true, unset, {2, 2, 1}}, Row{true, false, {2, 2, 2}}, Row{true, true, {1, 1, 1}}})
        for (int jit : {0, 1, 2}) {
            CompileOptions o = with_jit(2, jit);
            o.switches.fuse_transposes = dimshuffle;
            o.switches.fuse_reductions = reduce;
            EXPECT_EQ(count_steps(graph, o), steps[size_t(jit)])
                << "jit " << jit << ", dimshuffle " << int(dimshuffle.value_or(false)) << ", reduce "
                << int(reduce.value_or(false));
            expect_near(run(graph, o, inputs)[0], expected);
        }
}

TEST(FuseGrain, HasThreeStates) {
    for (bool keepdims : {false, true}) {
        Graph graph = record({image(8)}, [&](const Tensors& x) {
            Tensor rows = ops::mean(x[0], {.axes = {3}, .keepdims = keepdims});
            return Tensors{ops::mean(rows, {.axes = {2}, .keepdims = keepdims})};
        });
        CompileOptions off = options(2), on = options(0), unset = options(2);
        off.switches.join_means = false;
        on.switches.join_means = true;
        EXPECT_EQ(count_steps(graph, off), 2u);
        EXPECT_EQ(count_steps(graph, on), 1u);
        EXPECT_EQ(count_steps(graph, unset), 1u);
        auto program = Program::compile(graph, on);
        EXPECT_EQ(program->steps()[0].sources.size(), 2u);
        Tensors x{ramp({2, 8, 12, 12}, 5)};
        expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
    }
}

TEST(FuseGrain, FusesThreeAndKeepsSharedValues) {
    Graph three = record({image(8)}, [&](const Tensors& x) {
        Tensor y = ops::mean(ops::mean(x[0], {.axes = {3}}), {.axes = {2}});
        return Tensors{ops::mean(y, {.axes = {0}})};
    });
    EXPECT_EQ(count_steps(three, options(2)), 1u);
    Tensors x{ramp({2, 8, 12, 12}, 5)};
    expect_near(run(three, options(2), x)[0], run(three, options(0), x)[0]);
    Graph twice = record({image(8)}, [&](const Tensors& x) {
        Tensor y = ops::mean(x[0], {.axes = {3}});
        return Tensors{ops::mean(y, {.axes = {2}}), y};
    });
    EXPECT_EQ(count_steps(twice, options(2)), 2u);
}

TEST(FuseGrain, FusesPoolingOfPooling) {
    using Params = ops::AvgPool2d::Params;
    auto steps = [](const Params& first, const Params& second) {
        Graph graph = record({image(8)}, [&](const Tensors& x) {
            return Tensors{ops::avg_pool2d(ops::avg_pool2d(x[0], first), second)};
        });
        CompileOptions off = options(2), on = options(2);
        off.switches.join_means = false;
        EXPECT_EQ(count_steps(graph, off), 2u);
        Tensors x{ramp({2, 8, 12, 12}, 5)};
        expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
        return count_steps(graph, on);
    };
    Params two{.kernel = {2, 2}, .stride = {2, 2}}, three{.kernel = {3, 3}, .stride = {3, 3}};
    EXPECT_EQ(steps(two, three), 1u);
    EXPECT_EQ(steps({.kernel = {5, 2}, .stride = {5, 2}}, {.kernel = {2, 3}, .stride = {1, 2}}), 1u);
    // Windows that overlap, leave gaps or reach over the border.
    EXPECT_EQ(steps({.kernel = {3, 3}, .stride = {2, 2}}, two), 2u);
    EXPECT_EQ(steps({.kernel = {2, 2}, .stride = {3, 3}}, two), 2u);
    EXPECT_EQ(steps({.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}}, two), 2u);
    EXPECT_EQ(steps(two, {.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}}), 2u);
}

Tensor noise(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = uniform(random);
    return constant(shape, values);
}

// Three convolutions as above, on images as large as those of a network's first stages.
Graph large_conv_net(int64_t channels, int64_t size) {
    return record({f32({1, channels, size, size})}, [&](const Tensors& x) {
        auto convolve = [&](const Tensor& t, int seed) {
            Tensor y = ops::conv2d(t, noise({channels, channels, 3, 3}, seed), {.padding = {1, 1}});
            return ops::add(y, noise({1, channels, 1, 1}, seed));
        };
        Tensor first = ops::relu(convolve(x[0], 1));
        Tensor second = ops::relu(convolve(first, 2));
        return Tensors{ops::relu(ops::add(convolve(second, 3), first))};
    });
}

// Checks the images' dtypes between the first and the last step.
void expect_inner_values_are_f16(const Program& program) {
    for (auto& value : program.values())
        if (value.place == ValueReport::Place::arena || value.place == ValueReport::Place::constant) {
            EXPECT_EQ(value.spec.dtype, DType::f16) << value.name;
        }
    for (auto* ports : {&program.inputs(), &program.outputs()})
        for (auto& port : *ports) EXPECT_EQ(port.spec.dtype, DType::f32);
}

TEST(F16InputOutput, HalvesWeightsAndPlan) {
    for (int64_t channels : {16, 32})
        for (const char* layout : {"auto", "nchw", "nhwc"})
            for (bool fuses : {true, false}) {
                SCOPED_TRACE(text(channels, " channels, ", layout, fuses ? ", fused" : ""));
                Graph graph = large_conv_net(channels, 32);
                CompileOptions wide = options(2), half = options(2);
                wide.layout = half.layout = layout;
                wide.switches.fuse_bias = half.switches.fuse_bias = fuses;
                wide.switches.fuse_residual = half.switches.fuse_residual = fuses;
                half.switches.store_half = true;
                auto a = Program::compile(graph, wide), b = Program::compile(graph, half);
                expect_inner_values_are_f16(*b);
                EXPECT_EQ(b->memory().constants * 2, a->memory().constants);
                EXPECT_LE(double(b->memory().plan), 0.55 * double(a->memory().plan));
                for (auto& step : b->steps()) EXPECT_EQ(step.compute, DType::f32) << step.op;
                Tensors x{noise({1, channels, 32, 32}, 5)};
                Tensor expected = run(graph, wide, x)[0], got = run(graph, half, x)[0];
                double largest = 0, error = 0;
                for (int64_t i = 0; i < got.spec().numel(); ++i) {
                    double e = expected.data<float>()[i];
                    largest = std::max(largest, std::abs(e));
                    error = std::max(error, std::abs(got.data<float>()[i] - e));
                }
                EXPECT_GT(error, 0) << "as if nothing had been rounded";
                EXPECT_LE(error, 1e-3 * largest);
                // No CPU kernel computes in f16.
                half.switches.store_half = false;
                half.switches.compute_half = true;
                Tensor native = run(graph, half, x)[0];
                EXPECT_EQ(std::memcmp(native.data(), got.data(), got.spec().bytes()), 0);
            }
}

}  // namespace
}  // namespace mge::test
