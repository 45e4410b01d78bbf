// SPDX-License-Identifier: Apache-2.0
// How measured choices and the memory plan meet. Times are fed in, so the outcome is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/kernel/problem_text.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Graph convolutions() {
    return record({f32({1, 32, 14, 14})}, [](const Tensors& x) {
        Tensor weight = constant({32, 32, 3, 3}, {0.1f, -0.2f, 0.3f});
        Tensor y = ops::conv2d(x[0], weight, {.padding = {1, 1}});
        return Tensors{
            ops::conv2d(ops::transpose(y, {.pattern = {0, 1, 3, 2}}), weight, {.padding = {1, 1}})};
    });
}

CompileOptions profiling(FastrunCache* cache) {
    CompileOptions options;
    options.layout = "nchw";
    options.threads = 1;
    options.select.profile = true;
    options.select.heuristic = false;
    options.select.cache = cache;
    return options;
}

TEST(FastRun, MeasuresEachProblemOnceAndThenNever) {
    auto cache = FastrunCache::in_memory();
    std::map<std::string, int> measured;
    CompileOptions options = profiling(cache.get());
    options.select.measure = [&](const Problem& problem, const Algorithm& algorithm, const Prepared& prepared,
                                 double) {
        ++measured[text(problem.key(), algorithm.name, prepared.workspace(), ' ',
                        prepared.packed().pieces.size())];
        return std::optional(1.0);
    };
    auto program = Program::compile(convolutions(), options);
    ASSERT_EQ(program->steps().size(), 3u);
    EXPECT_EQ(program->steps()[0].source, ChoiceSource::measured);
    EXPECT_EQ(program->steps()[2].source, ChoiceSource::measured) << "once, for both of this compilation";
    EXPECT_FALSE(measured.empty());
    measured.clear();
    auto again = Program::compile(convolutions(), options);
    EXPECT_TRUE(measured.empty());
    EXPECT_EQ(again->steps()[0].source, ChoiceSource::cache);
}

// Returns the neighbourhood of a product in a nested graph, beside a step that accesses 32 MB.
std::string neighbourhood_of_product(
    const std::function<Tensor(const SubgraphRef&, const Tensors&)>& around) {
    const TensorSpecs operands{f32({1, 64}), f32({64, 64})};
    auto product = make_subgraph(
        operands, [](std::span<const Tensor> in) -> Tensors { return {ops::matmul(in[0], in[1])}; });
    Graph graph = record({f32({1, 64}), f32({2000, 2000})}, [&](const Tensors& x) {
        return Tensors{around(product, {x[0], constant({64, 64}, {0.5f})}), ops::relu(x[1])};
    });
    auto cache = FastrunCache::in_memory();
    CompileOptions options = profiling(cache.get());
    options.select.measure = [](auto&&...) { return std::optional(1.0); };
    Program::compile(graph, options);
    for (auto& row : cache->rows())
        if (auto parts = parse_problem(row.problem); parts->op == "matmul") return parts->beside;
    return "no product was measured";
}

// Nothing runs between two products of a loop, whatever the program around it is; everything does between two
// of a branch that is taken once in a run.
TEST(FastRun, AccountsForWorkBetweenRuns) {
    auto in_a_loop = [](const SubgraphRef& graph, const Tensors& x) {
        return ops::scan(Tensors{x[0], x[1]}, {.body = graph, .carried = 1, .length = 3})[0];
    };
    auto in_a_branch = [](const SubgraphRef& graph, const Tensors& x) {
        return ops::cond(Tensors{ops::sum(x[0]), x[0], x[1]}, {.then_graph = graph, .else_graph = graph})[0];
    };
    EXPECT_EQ(neighbourhood_of_product(in_a_loop), "16K");
    EXPECT_EQ(neighbourhood_of_product(in_a_branch), "");
}

TEST(NoProfilingOnShapeChange, KeepsTheAlgorithms) {
    for (bool keeps : {false, true}) {
        int measured = 0;
        CompileOptions options = profiling(nullptr);
        options.no_profiling_on_shape_change = keeps;
        options.select.measure = [&](const Problem&, const Algorithm& algorithm, const Prepared&, double) {
            ++measured;
            // An order that no heuristic would choose.
            return std::optional(algorithm.attributes.naive ? 1.0 : 2.0 - 0.01 * measured);
        };
        Executable executable(convolutions(), options);
        auto first = executable.program_for({f32({1, 32, 14, 14})});
        EXPECT_GT(measured, 0);
        measured = 0;
        auto other = executable.program_for({f32({2, 32, 10, 18})});
        if (keeps)
            EXPECT_EQ(measured, 0);
        else
            EXPECT_GT(measured, 0);
        ASSERT_EQ(other->steps().size(), first->steps().size());
        for (size_t i = 0; keeps && i < first->steps().size(); ++i)
            EXPECT_EQ(other->steps()[i].algorithm, first->steps()[i].algorithm) << i;
    }
}

TEST(NoProfilingOnShapeChange, UnsuitableAlgorithmsAreReplaced) {
    CompileOptions options;
    options.layout = "nchw";
    options.threads = 1;
    auto plain = Program::compile(convolutions(), options);
    int source = plain->steps()[0].sources.at(0).id;
    options.known_algorithms = {{"conv2d", {source}, "no_such_algorithm"},
                                {"conv2d", {99}, "not_of_this_node"}};
    ::testing::internal::CaptureStderr();
    auto program = Program::compile(convolutions(), options);
    EXPECT_NE(
        ::testing::internal::GetCapturedStderr().find("'no_such_algorithm' cannot compute these shapes"),
        std::string::npos);
    for (size_t i = 0; i < plain->steps().size(); ++i)
        EXPECT_EQ(program->steps()[i].algorithm, plain->steps()[i].algorithm);
}

TEST(FastRun, KeepsTheArenaWithinTheFactor) {
    // The more workspace, the faster: what is chosen shows where the limit is.
    auto greedy = [](const Problem&, const Algorithm&, const Prepared& prepared, double) {
        return std::optional(1.0 / double(1 + prepared.workspace()));
    };
    auto plan_for = [&](double factor) {
        auto cache = FastrunCache::in_memory();
        CompileOptions options = profiling(cache.get());
        options.select.measure = greedy;
        options.workspace_factor = factor;
        return Program::compile(convolutions(), options)->memory();
    };
    CompileOptions heuristic;
    heuristic.layout = "nchw";
    heuristic.threads = 1;
    size_t base = Program::compile(convolutions(), heuristic)->memory().plan_lower_bound;
    for (double factor : {1.0, 1.5, 2.0, 4.0}) {
        auto memory = plan_for(factor);
        EXPECT_LE(double(memory.plan_lower_bound), factor * double(base)) << factor;
    }
    EXPECT_GE(plan_for(100).plan_lower_bound, plan_for(1).plan_lower_bound);
}

constexpr int64_t chain_length = 8;
constexpr int64_t chain_channels(int64_t i) { return 32 + 16 * i; }

// Each convolution is another problem.
Graph chain() {
    return record({f32({1, chain_channels(0), 14, 14})}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int64_t i = 0; i < chain_length; ++i)
            y = ops::conv2d(y, constant({chain_channels(i + 1), chain_channels(i), 3, 3}, {0.1f, -0.2f}),
                            {.padding = {1, 1}});
        return Tensors{y};
    });
}

// Times of the convolutions of a chain, by their number.
struct ChainTimes {
    std::function<double(int64_t)> plain, laid_out;
    std::map<int64_t, int> measured_plain = {};
    int measured = 0;

    CostSource source() {
        return [this](const Problem& problem, const Algorithm&, const Prepared&, double) {
            ++measured;
            if (problem.op != "conv2d") return std::optional(0.001);
            int64_t i = (problem.inputs[0].shape[1] - chain_channels(0)) / 16;
            bool is_plain = problem.outputs[0].layout.is_plain();
            if (is_plain) ++measured_plain[i];
            return std::optional((is_plain ? plain : laid_out)(i));
        };
    }
    bool is_laid_out(FastrunCache* cache, bool may_measure = true) {
        CompileOptions options = profiling(cache);
        options.layout = "auto";
        options.select.heuristic = !may_measure;
        options.select.measure = source();
        auto program = Program::compile(chain(), options);
        return std::ranges::any_of(program->values(),
                                   [](auto& value) { return !value.spec.layout.is_plain(); });
    }
};

TEST(FastRun, SlowLayoutsAreNotMeasuredCompletely) {
    ChainTimes times{.plain = [](int64_t) { return 3.0; }, .laid_out = [](int64_t) { return 1.0; }};
    auto cache = FastrunCache::in_memory();
    EXPECT_TRUE(times.is_laid_out(cache.get()));
    EXPECT_TRUE(times.measured_plain.contains(0));
    EXPECT_FALSE(times.measured_plain.contains(chain_length - 1));
    times.measured = 0;
    EXPECT_TRUE(times.is_laid_out(cache.get()));
    EXPECT_TRUE(times.is_laid_out(cache.get(), false));
    EXPECT_EQ(times.measured, 0) << "who reads the times gives up at the same places";
}

TEST(FastRun, CompetitiveLayoutsAreMeasured) {
    ChainTimes times{.plain = [](int64_t i) { return i < chain_length / 2 ? 1.05 : 0.5; },
                     .laid_out = [](int64_t) { return 1.0; }};
    EXPECT_FALSE(times.is_laid_out(nullptr));
    EXPECT_TRUE(times.measured_plain.contains(chain_length - 1));
}

}  // namespace
}  // namespace mge::test
