// SPDX-License-Identifier: Apache-2.0
// How measured choices and the memory plan meet. Times are fed in, so the outcome is known.
#include <gtest/gtest.h>

#include <map>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/mge.h"
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
        ++measured[text(problem.key(), algorithm.name, prepared.workspace(), ' ', prepared.packed_bytes())];
        return std::optional(1.0);
    };
    auto program = Program::compile(convolutions(), options);
    ASSERT_EQ(program->steps().size(), 3u);
    EXPECT_EQ(program->steps()[0].source, ChoiceSource::measured);
    EXPECT_EQ(program->steps()[2].source, ChoiceSource::cache) << "the same problem again";
    EXPECT_FALSE(measured.empty());
    measured.clear();
    auto again = Program::compile(convolutions(), options);
    EXPECT_TRUE(measured.empty());
    EXPECT_EQ(again->steps()[0].source, ChoiceSource::cache);
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

}  // namespace
}  // namespace mge::test
