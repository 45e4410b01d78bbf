// SPDX-License-Identifier: Apache-2.0
// What each option of compilation does to the steps and the memory of a program.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

TensorSpec image(int64_t channels) { return f32({2, channels, 12, 12}); }

Tensor ramp(const Shape& shape, int seed = 1) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 40;
    return constant(shape, values);
}

// Three convolutions with bias and ReLU; the third adds the first's output before its ReLU. Ten nodes.
Graph conv_net() {
    return record({image(16)}, [](const Tensors& x) {
        auto convolve = [](const Tensor& t, int seed) {
            Tensor y = ops::conv2d(t, ramp({16, 16, 3, 3}, seed), {.padding = {1, 1}});
            return ops::add(y, ramp({1, 16, 1, 1}, seed));
        };
        Tensor first = ops::relu(convolve(x[0], 1));
        Tensor second = ops::relu(convolve(first, 2));
        return Tensors{ops::relu(ops::add(convolve(second, 3), first))};
    });
}

CompileOptions options(int level) {
    CompileOptions o;
    o.level = level;
    o.layout = "nchw";
    o.threads = 1;
    o.graph_opt.jit = 0;
    return o;
}

void expect_refused(const std::function<void()>& compile, const std::string& words) {
    try {
        compile();
        ADD_FAILURE() << "no error; expected: " << words;
    } catch (const UserError& e) {
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

size_t count_steps(const Graph& graph, const CompileOptions& o, std::string_view op = {}) {
    auto program = Program::compile(graph, o);
    size_t count = 0;
    for (auto& step : program->steps()) count += op.empty() || step.op == op;
    return count;
}

Tensors run(const Graph& graph, const CompileOptions& o, const Tensors& inputs) {
    return Executable(graph, o).run(inputs);
}

void expect_near(const Tensor& got, const Tensor& expected) {
    ASSERT_EQ(got.spec(), expected.spec());
    for (int64_t i = 0; i < got.spec().numel(); ++i)
        ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i],
                    1e-4 * (1 + std::abs(expected.data<float>()[i])))
            << "element " << i;
}

TEST(GraphOptimization, SwitchesAreSetInChains) {
    GraphOptimization o;
    EXPECT_FALSE(o.has_set_weight_preprocess());
    auto& same = o.enable_weight_preprocess().disable_fuse_grain().enable_f16_io_f32_comp();
    EXPECT_EQ(&same, &o);
    EXPECT_TRUE(o.has_set_weight_preprocess());
    EXPECT_FALSE(o.has_set_fuse_grain());
    EXPECT_EQ(o.fuse_grain, false);
    EXPECT_EQ(o.fuse_preprocess, std::nullopt) << "the engine's matter";
    EXPECT_TRUE(o.has_set_f16_io_f32_comp());
    EXPECT_FALSE(o.disable_f16_io_f32_comp().has_set_f16_io_f32_comp());
}

TEST(LayoutTransform, IsOne) {
    GraphOptimization o;
    EXPECT_TRUE(o.enable_nchw44().has_set_nchw44());
    expect_refused([&] { o.enable_nchw88(); }, "NCHW88 contradicts NCHW44");
    EXPECT_TRUE(o.disable_nchw88().has_set_nchw44()) << "which is another";
    EXPECT_TRUE(o.disable_nchw44().enable_nchw88().has_set_nchw88());
    EXPECT_FALSE(o.has_set_nchw44());
}

TEST(LayoutTransform, IsTheLayoutInOtherWords) {
    CompileOptions by_layout, by_switch;
    by_layout.layout = "NCHW88";
    by_switch.graph_opt.enable_nchw88();
    auto layouts = [](const CompileOptions& o) {
        std::vector<std::string> names;
        auto program = Program::compile(conv_net(), o);
        for (auto& value : program->values()) names.push_back(value.spec.layout.name());
        return names;
    };
    EXPECT_EQ(layouts(by_switch), layouts(by_layout));
    CompileOptions foreign;
    foreign.graph_opt.enable_nchw44_dot();
    auto ignored = Program::compile(conv_net(), foreign)->options_without_effect();
    ASSERT_EQ(ignored.size(), 1u);
    EXPECT_EQ(ignored[0].option, "layout");
    EXPECT_EQ(ignored[0].given, "NCHW44_DOT");
}

TEST(FuseConvBiasNonlinearity, HasThreeStates) {
    Graph graph = conv_net();
    CompileOptions on = options(0), off = options(2), unset = options(2);
    on.graph_opt.fuse_conv_bias_nonlinearity = true;
    off.graph_opt.fuse_conv_bias_nonlinearity = false;
    for (auto* o : {&on, &off, &unset}) o->graph_opt.fuse_conv_bias_with_z = false;
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
    for (auto* o : {&on, &off, &unset}) o->graph_opt.fuse_conv_bias_nonlinearity = true;
    on.graph_opt.fuse_conv_bias_with_z = true;
    off.graph_opt.fuse_conv_bias_with_z = false;
    EXPECT_EQ(count_steps(graph, on), 3u) << "its ReLU as well";
    EXPECT_EQ(count_steps(graph, off), 5u);
    EXPECT_EQ(count_steps(graph, unset), 3u);
    Tensors x{ramp({2, 16, 12, 12}, 5)};
    expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
}

TEST(FuseConvBiasNonlinearity, LeavesOtherOperatorsToTheLevel) {
    Graph graph = record({f32({2, 3})}, [](const Tensors& x) {
        return Tensors{ops::relu(ops::add(ops::matmul(x[0], ramp({3, 4})), ramp({4})))};
    });
    CompileOptions off = options(2), on = options(0);
    off.graph_opt.fuse_conv_bias_nonlinearity = false;
    on.graph_opt.fuse_conv_bias_nonlinearity = true;
    EXPECT_EQ(count_steps(graph, off), 1u);
    EXPECT_EQ(count_steps(graph, on), 3u);
}

// sum(x · y + exp(z))
Tensor sum_of_products(const Tensors& x) { return ops::sum(ops::add(ops::mul(x[0], x[1]), ops::exp(x[2]))); }
const TensorSpecs three{f32({64, 64}), f32({64, 64}), f32({64, 64})};
Tensors three_ramps() { return {ramp({64, 64}, 1), ramp({64, 64}, 2), ramp({64, 64}, 3)}; }

CompileOptions with_jit(int level, std::optional<int> jit, JitConfig config = {}) {
    CompileOptions o = options(level);
    o.graph_opt.jit = jit;
    o.graph_opt.jit_config = config;
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

TEST(Jit, LeavesOutsideWhatOthersRead) {
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
TEST(JitConfig, IsStrongerThanJit) {
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
            CompileOptions o = with_jit(2, jit, {dimshuffle, reduce});
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
        off.graph_opt.fuse_grain = false;
        on.graph_opt.fuse_grain = true;
        EXPECT_EQ(count_steps(graph, off), 2u);
        EXPECT_EQ(count_steps(graph, on), 1u);
        EXPECT_EQ(count_steps(graph, unset), 1u);
        auto program = Program::compile(graph, on);
        EXPECT_EQ(program->steps()[0].sources.size(), 2u);
        Tensors x{ramp({2, 8, 12, 12}, 5)};
        expect_near(run(graph, on, x)[0], run(graph, off, x)[0]);
    }
}

TEST(FuseGrain, JoinsThreeAndLeavesWhatIsReadTwice) {
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

// What the images' dtypes are between the first and the last step.
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
                wide.graph_opt.fuse_conv_bias_nonlinearity = half.graph_opt.fuse_conv_bias_nonlinearity =
                    fuses;
                wide.graph_opt.fuse_conv_bias_with_z = half.graph_opt.fuse_conv_bias_with_z = fuses;
                half.graph_opt.f16_io_f32_comp = true;
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
                half.graph_opt.f16_io_f32_comp = false;
                half.graph_opt.f16_io_comp = true;
                Tensor native = run(graph, half, x)[0];
                EXPECT_EQ(std::memcmp(native.data(), got.data(), got.spec().bytes()), 0);
            }
}

// Eight elementwise steps and a sum.
Graph chain() {
    return record({f32({256, 1024})}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 8; ++i) y = i % 2 ? ops::exp(y) : ops::sin(y);
        return Tensors{ops::sum(y)};
    });
}

TEST(SequenceOptimization, PlansMemory) {
    constexpr size_t tensor = 1 << 20, slack = 1 << 16;  // slack: the sum's workspace
    auto plan = [](bool overwrites, bool reuses) {
        CompileOptions o = options(2);
        o.seq_opt.enable_mem_plan_opt = overwrites;
        o.seq_opt.enable_mem_reuse_alloc = reuses;
        return Program::compile(chain(), o)->memory();
    };
    EXPECT_NEAR(double(plan(true, true).plan), double(tensor), slack);
    EXPECT_NEAR(double(plan(false, true).plan), double(2 * tensor), slack);
    EXPECT_NEAR(double(plan(false, false).plan), double(8 * tensor), slack);
    for (bool reuses : {false, true})
        EXPECT_GE(plan(false, reuses).plan, plan(false, reuses).plan_lower_bound);
    CompileOptions none = options(2);
    none.seq_opt = {false, false};
    Tensors x{ramp({256, 1024}, 3)};
    EXPECT_EQ(*run(chain(), none, x)[0].data<float>(), *run(chain(), options(2), x)[0].data<float>());
}

TEST(FakeNextExec, ComputesNothingOnce) {
    CompileOptions o = options(2);
    o.fake_next_exec = true;
    auto context = Context::create(Program::compile(chain(), o));
    Tensor x = ramp({256, 1024}, 3);
    std::memcpy(context->input(0), x.data(), x.spec().bytes());
    context->run();
    EXPECT_EQ(*context->output(0).data<float>(), 0);
    context->run();
    EXPECT_EQ(*context->output(0).data<float>(), *run(chain(), options(2), {x})[0].data<float>());
}

Tensor exponentials(Executable& executable, int64_t rows) {
    return executable.run(Tensors{ramp({rows, 8})})[0];
}

TEST(FakeNextExec, IsOneRunOfAllShapes) {
    Graph graph = record({f32({2, 8})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    auto first = [](const Tensor& t) { return *t.data<float>(); };
    float expected = std::exp(first(ramp({1})));
    CompileOptions o = options(2);
    o.fake_next_exec = true;
    Executable executable(graph, o);
    EXPECT_EQ(first(exponentials(executable, 2)), 0);
    EXPECT_NEAR(first(exponentials(executable, 2)), expected, 1e-6);
    EXPECT_NEAR(first(exponentials(executable, 3)), expected, 1e-6)
        << "the first run of a shape computes as well";
    Tensor kept = exponentials(executable, 2);
    executable.fake_next_exec();
    EXPECT_EQ(first(exponentials(executable, 3)), 0) << "set for a later run";
    EXPECT_NEAR(first(exponentials(executable, 3)), expected, 1e-6);
    executable.fake_next_exec();
    exponentials(executable, 4);
    EXPECT_NEAR(first(exponentials(executable, 4)), expected, 1e-6) << "it was a run of a new shape";
    EXPECT_NEAR(first(kept), expected, 1e-6) << "no run writes to what another has given";
}

TEST(FakeNextExec, GivesInputsThroughAndNoShapesOfRuns) {
    Graph graph = record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{x[0], ops::cond_take(x[0], ops::greater(x[0], x[1]))[0]};
    });
    Executable executable(graph, options(2));
    Tensors x{constant({4}, {1, 2, 3, 4}), constant({4}, {0, 9, 0, 0})};
    EXPECT_EQ(executable.run(x)[1].spec().numel(), 3);
    executable.fake_next_exec();
    Tensors outputs = executable.run(x);
    EXPECT_EQ(outputs[0].data(), x[0].data());
    EXPECT_FALSE(outputs[1]);
    EXPECT_EQ(executable.run(x)[1].spec().numel(), 3);
}

TEST(FakeNextExec, IsSetForALaterRunOfAContext) {
    Graph graph = record({f32({1})}, [](const Tensors& x) { return Tensors{ops::neg(x[0])}; });
    auto context = Context::create(Program::compile(graph, options(2)));
    auto result = [&](float x) {
        context->fill_inputs(Tensors{constant({1}, {x})});
        context->run();
        return *context->output(0).data<float>();
    };
    EXPECT_EQ(result(3), -3);
    context->fake_next_exec();
    EXPECT_EQ(result(4), -3) << "as the last run left it";
    EXPECT_EQ(result(4), -4);
    CompileOptions recorded = options(2);
    recorded.comp_node_seq_record_level = 2;
    recorded.var_sanity_check_first_run = false;
    Executable executable(chain(), recorded);
    expect_refused([&] { executable.fake_next_exec(); }, "contradicts fake_next_exec");
}

TEST(Layout, OneThatDoesNotExistIsRefused) {
    CompileOptions o = options(2);
    o.layout = "NCHW5";
    Graph no_images = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    expect_refused([&] { Program::compile(no_images, o); }, "no layout named 'NCHW5'");
}

std::vector<std::string> algorithms(const Program& program) {
    std::vector<std::string> names;
    for (auto& step : program.steps()) names.push_back(step.op + ' ' + step.algorithm);
    return names;
}

TEST(Layout, OneWithoutKernelsLeavesTheEngineItsChoiceAndIsListed) {
    CompileOptions own = options(2), named = options(2);
    own.layout = "auto";
    auto chosen = Program::compile(conv_net(), own);
    EXPECT_TRUE(chosen->options_without_effect().empty());
    for (const char* layout : {"NCHW44", "NHWCD4", "CHWN4", "NCHW64"}) {
        named.layout = layout;
        ::testing::internal::CaptureStderr();
        auto program = Program::compile(conv_net(), named);
        EXPECT_NE(::testing::internal::GetCapturedStderr().find(text("layout ", layout, " has no effect")),
                  std::string::npos);
        EXPECT_EQ(algorithms(*program), algorithms(*chosen)) << layout;
        ASSERT_EQ(program->options_without_effect().size(), 1u);
        EXPECT_EQ(program->options_without_effect()[0].option, "layout");
        EXPECT_EQ(program->options_without_effect()[0].given, layout);
    }
    named.layout = "nhwc";
    EXPECT_TRUE(Program::compile(conv_net(), named)->options_without_effect().empty());
    named.layout = "nchw";
    EXPECT_TRUE(Program::compile(conv_net(), named)->options_without_effect().empty());
}

TEST(ConstShape, RefusesOthers) {
    CompileOptions o = options(2);
    o.const_shape = true;
    Executable executable(conv_net(), o);
    executable.run(Tensors{ramp({2, 16, 12, 12})});
    expect_refused([&] { executable.run(Tensors{ramp({3, 16, 12, 12})}); }, "const_shape");
}

TEST(RecordLevel, TwoGivesUpTheGraph) {
    CompileOptions o = options(2);
    o.comp_node_seq_record_level = 2;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts var_sanity_check_first_run");
    o.var_sanity_check_first_run = false;
    Tensors x{ramp({2, 16, 12, 12}, 5)};
    expect_near(run(conv_net(), o, x)[0], run(conv_net(), options(2), x)[0]);
    o.fake_next_exec = true;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts fake_next_exec");
    o.fake_next_exec = false;
    o.force_dynamic_alloc = true;
    expect_refused([&] { Program::compile(conv_net(), o); }, "contradicts force_dynamic_alloc");
    o.force_dynamic_alloc = false;
    Graph dynamic = record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{ops::cond_take(x[0], ops::greater(x[0], x[1]))[0]};
    });
    expect_refused([&] { Program::compile(dynamic, o); }, "2 needs fixed shapes");
    o.comp_node_seq_record_level = 1;
    EXPECT_EQ(Program::compile(dynamic, o)->steps().empty(), false);
}

TEST(RecordLevel, TwoFixesTheShapesOfAnExecutable) {
    CompileOptions o = options(2);
    o.var_sanity_check_first_run = false;
    Tensors small{ramp({2, 16, 12, 12}, 5)}, large{ramp({4, 16, 12, 12}, 5)};
    Executable free(conv_net(), o);
    free.run(small);
    free.run(large);
    o.comp_node_seq_record_level = 2;
    Executable fixed(conv_net(), o);
    fixed.run(small);
    expect_refused([&] { fixed.run(large); }, "2 has fixed the shapes: input '");
    fixed.run(small);
}

TEST(WorkspaceLimit, ActsOnEveryStep) {
    CompileOptions o = options(2);
    o.select.workspace_limit = 0;
    auto program = Program::compile(conv_net(), o);
    for (auto& step : program->steps()) EXPECT_EQ(step.workspace, 0u) << step.algorithm;
}

TEST(SharedBatchSize, OneMeasurementServesAllBatches) {
    Graph graph = record({f32({8, 32})}, [](const Tensors& x) {
        return Tensors{ops::matmul(x[0], ramp({32, 16}))};
    });
    auto cache = FastrunCache::in_memory();
    CompileOptions o = options(2);
    o.select.profile = true;
    o.select.heuristic = false;
    o.select.shared_batch_size = 4;
    o.select.cache = cache.get();
    EXPECT_EQ(Program::compile(graph, o)->steps()[0].source, ChoiceSource::measured);
    Graph other = infer_shapes(graph, {f32({1, 32})});
    EXPECT_EQ(Program::compile(other, o)->steps()[0].source, ChoiceSource::cache);
    o.select.shared_batch_size = 0;
    EXPECT_EQ(Program::compile(other, o)->steps()[0].source, ChoiceSource::measured);
}

std::vector<std::string> ignored(const Graph& graph, const CompileOptions& o) {
    std::vector<std::string> fields;
    auto program = Program::compile(graph, o);
    for (auto& option : program->options_without_effect()) fields.push_back(option.option);
    return fields;
}

using Fields = std::vector<std::string>;

// A switch that is on and finds nothing is told, one that is off or unset is not.
TEST(GraphOptimization, SwitchesThatFindNothingAreListed) {
    Graph nothing = record({f32({4, 4})}, [](const Tensors& x) { return Tensors{ops::matmul(x[0], x[0])}; });
    auto with = [](auto member, bool on) {
        CompileOptions o;
        o.log_level = 0;
        o.graph_opt.*member = on;
        return o;
    };
    std::vector<std::pair<std::string, std::optional<bool> GraphOptimization::*>> switches{
        {"graph_opt.fuse_conv_bias_nonlinearity", &GraphOptimization::fuse_conv_bias_nonlinearity},
        {"graph_opt.fuse_conv_bias_with_z", &GraphOptimization::fuse_conv_bias_with_z},
        {"graph_opt.fuse_grain", &GraphOptimization::fuse_grain},
        {"graph_opt.fuse_preprocess", &GraphOptimization::fuse_preprocess},
        {"graph_opt.weight_preprocess", &GraphOptimization::weight_preprocess}};
    for (auto& [field, member] : switches) {
        EXPECT_EQ(ignored(nothing, with(member, true)), Fields{field});
        EXPECT_EQ(ignored(nothing, with(member, false)), Fields{});
    }
    for (size_t i : {0, 1, 4})
        EXPECT_EQ(ignored(conv_net(), with(switches[i].second, true)), Fields{}) << switches[i].first;
    CompileOptions o;
    o.log_level = 0;
    o.graph_opt.jit = 1;
    o.graph_opt.f16_io_f32_comp = true;
    EXPECT_EQ(
        ignored(record({{DType::i32, {4}}}, [](const Tensors& x) { return Tensors{ops::neg(x[0])}; }), o),
        (Fields{"graph_opt.jit", "graph_opt.f16_io_f32_comp"}));
}

TEST(CompileOptions, ThatDoNothingOnAnyDeviceAreListed) {
    CompileOptions o = options(2);
    o.graph_opt.jit = std::nullopt;
    o.seq_opt.enable_seq_comp_node_opt = false;
    o.allreduce_pack_ignore_first = 3;
    o.enable_grad_var_static_reshape = true;
    o.precision = Precision::relaxed;
    testing::internal::CaptureStderr();
    EXPECT_EQ(ignored(conv_net(), o),
              (Fields{"seq_opt.enable_seq_comp_node_opt", "allreduce_pack_ignore_first",
                      "enable_grad_var_static_reshape", "precision"}));
    EXPECT_NE(
        testing::internal::GetCapturedStderr().find("enable_grad_var_static_reshape true has no effect"),
        std::string::npos);
}

TEST(VerifyPasses, FindsAGraphThatIsNone) {
    constexpr Pass spoiling{"spoil", 0, [](Graph graph, const PassOptions&) {
                                graph.value(graph.node(0).outputs[0]).spec.dtype = DType::i32;
                                return graph;
                            }};
    Graph graph = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::exp(x[0])}; });
    CompileOptions o = options(0);
    o.own_passes = {&spoiling};
    o.verify_passes = true;
    EXPECT_THROW(Program::compile(graph, o), Error);
}

TEST(CompileOptions, SaysWhatThisBuildCannotDo) {
    auto refuse = [](auto change, ErrorCode code, const char* name) {
        CompileOptions o;
        change(o);
        try {
            check(o);
            ADD_FAILURE() << name << " was accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), code) << e.what();
            EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
        }
    };
    refuse([](auto& o) { o.graph_opt.tensorrt = true; }, ErrorCode::device, "tensorrt");
    refuse([](auto& o) { o.graph_opt.f16_io_f32_comp = o.graph_opt.f16_io_comp = true; }, ErrorCode::usage,
           "[graph_opt.f16_io_comp] contradicts graph_opt.f16_io_f32_comp");
    refuse([](auto& o) { o.graph_opt.jit = 5; }, ErrorCode::usage, "jit");
    refuse([](auto& o) { o.level = -4; }, ErrorCode::usage, "[level] -4 is not between -3 and 3");
    refuse([](auto& o) { o.level = 4; }, ErrorCode::usage, "[level] 4 is not between -3 and 3");
    refuse([](auto& o) { o.allreduce_pack_max_size = 1; }, ErrorCode::device,
           "[allreduce_pack_max_size] there are no collectives");
    refuse([](auto& o) { o.eager_evaluation = true; }, ErrorCode::usage, "[eager_evaluation] a graph whose");
    refuse(
        [](auto& o) {
            o.layout = "nhwc";
            o.graph_opt.enable_nchw88();
        },
        ErrorCode::usage, "[graph_opt.layout_transform] contradicts layout");
    refuse([](auto& o) { o.comp_node_seq_record_level = 3; }, ErrorCode::usage, "record_level");
}

}  // namespace
}  // namespace mge::test
