// SPDX-License-Identifier: Apache-2.0
// Inner graphs, callbacks and parts, on an asynchronous device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "libmge/mge.h"
#include "libmge/op/subgraph.h"
#include "tests/harness/expect_error.h"
#include "tests/shadow/shadow_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

// h' = cumsum(h) x[n]
Graph looping() {
    auto body = make_subgraph(TensorSpecs{f32({2}), f32({2})}, [](std::span<const Tensor> in) -> Tensors {
        return {ops::mul(ops::cumsum(in[0], {.axis = 0}), in[1])};
    });
    GraphBuilder builder;
    Tensor h = builder.input(f32({2}), "h"), xs = builder.input(f32({3, 2}), "xs");
    InterpreterScope scope(builder);
    Tensor last = ops::scan({h, xs}, {.body = body, .carried = 1, .sliced = 1})[0];
    builder.set_outputs({ops::exp(last), last});
    Graph graph = builder.take();
    graph.node(0).name = "loop";
    return graph;
}

struct OnShadow {
    explicit OnShadow(const std::vector<size_t>& callback_outputs = {}) {
        CompileOptions options;
        options.device = shadow_device();
        options.callback_outputs = callback_outputs;
        program = Program::compile(looping(), options);
        context = Context::create(program);
    }
    void fill(float second) {
        std::vector<float> xs{1, 1, second, 1, 1, 1};
        Tensor inputs[] = {on({}, {2, 2}), tensor_from_host(f32({3, 2}), xs.data(), {})};
        context->fill_inputs(inputs);
    }
    std::shared_ptr<const Program> program;
    std::unique_ptr<Context> context;
};

TEST(InsideOnShadow, GuardsAndDumpsSeeValues) {
    OnShadow sample;
    sample.fill(3e38F);
    ValueGuard guard(sample.program, std::nullopt);
    sample.context->observe(&guard);
    try {
        sample.context->run();
        ADD_FAILURE() << "no error";
    } catch (const GuardError& e) {
        EXPECT_THAT(e.finding().name, HasSubstr("loop/body[1]/mul#1"));
    }
    sample.fill(2);
    WriteGuard written(sample.program);
    RepeatGuard repeated(sample.program, 1, 0);
    sample.context->observe(&written);
    sample.context->attach(repeated);
    for (int i = 0; i < 3; ++i) sample.context->run();
    std::ostringstream text;
    auto sink = text_dump(text);
    IoDumpRun dump(sample.program, *sink);
    sample.context->observe(&dump);
    sample.context->run();
    sample.context->wait();
    EXPECT_THAT(text.str(), HasSubstr("name=loop/body[2]/mul#1"));
}

TEST(InsideOnShadow, CallbacksGetValuesBeforeRelease) {
    OnShadow sample({1});
    sample.fill(2);
    std::vector<float> seen;
    sample.context->on_output(1, [&](const Tensor& output) { seen = floats_of(output); });
    sample.context->run();
    sample.context->wait();
    // (2, 2) → (2, 4) → (4, 6) → (4, 10)
    EXPECT_THAT(seen, ElementsAre(4, 10));
    EXPECT_THAT(floats_of(sample.context->output(0)),
                ElementsAre(FloatEq(std::exp(4.F)), FloatEq(std::exp(10.F))));
}

}  // namespace
}  // namespace mge::test
