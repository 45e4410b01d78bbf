// SPDX-License-Identifier: Apache-2.0
// Recorded runs on a GPU: from the second run on a context asks for a graph of CUDA's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/device/recording.h"
#include "libmge/device/stream_sharing.h"
#include "libmge/device/upload.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/shadow/values.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

CompileOptions recorded() {
    CompileOptions options;
    options.device = gpu();
    options.comp_node_seq_record_level = 1;
    options.var_sanity_check_first_run = false;
    return options;
}

Tensor filled(const Shape& shape, int seed) {
    std::vector<double> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double((int(i) * 7 + seed * 13) % 23 - 11) / 8;
    return make_tensor(DType::f32, shape, values);
}

const Shape x_shape{2, 3, 3};

template <class Fn>
Graph graph_of(Fn compute) {
    GraphBuilder builder;
    InterpreterScope scope(builder);
    builder.set_outputs(compute(builder.input({DType::f32, x_shape, {}}, "x")));
    return builder.take();
}
// Reductions and products, which have workspaces, and two outputs.
Graph net() {
    return graph_of([](const Tensor& x) {
        Tensor y = ops::softmax(ops::matmul(ops::exp(x), filled({3, 5}, 1)), {.axis = -1});
        return Tensors{y, ops::sum(ops::sort(y)[0], {.axes = {1}})};
    });
}

void expect_as_on_cpu(const Graph& graph, const Tensor& x, const Tensors& outputs, int run) {
    Tensors expected = Executable(graph, {}).run({&x, 1});
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_THAT(floats_of(outputs[i]),
                    testing::Pointwise(testing::FloatNear(1e-5F), floats_of(expected[i])))
            << "output " << i << " of run " << run;
}

Tensors outputs_of(Context& context) {
    context.wait();
    Tensors outputs;
    for (size_t i = 0; i < context.program().outputs().size(); ++i) outputs.push_back(context.copy_output(i));
    return outputs;
}

TEST(RecordedRuns, MatchSteps) {
    Graph graph = net();
    auto context = Context::create(Program::compile(graph, recorded()));
    for (int i = 0; i < 5; ++i) {
        Tensor x = filled(x_shape, i);
        context->fill_inputs({&x, 1});
        context->run();
        expect_as_on_cpu(graph, x, outputs_of(*context), i);
    }
}

TEST(RecordedRuns, FollowRebinding) {
    Graph graph = net();
    auto context = Context::create(Program::compile(graph, recorded()));
    Tensor y = empty_tensor({DType::f32, {2, 3, 5}, {}}, gpu());
    for (int i = 0; i < 8; ++i) {
        Tensor x = filled(x_shape, i), there = to_device(x, gpu());
        context->bind_input(0, there.address());
        bool is_bound = i % 3 == 2;
        context->bind_output(0, is_bound ? y.address() : nullptr, is_bound ? y.spec().bytes() : 0);
        context->run();
        Tensors outputs = outputs_of(*context);
        if (is_bound) outputs[0] = y;
        expect_as_on_cpu(graph, x, outputs, i);
    }
}

// In a recording, later work is unknown.
TEST(RecordedRuns, MayReleaseUploadedInputs) {
    Tensor uploaded = upload_overlapped(filled(x_shape, 1), gpu()), kept = uploaded.alias();
    dynamic_cast<RecordingQueue&>(queue_of(gpu())).record_work([&] { kept = uploaded = {}; });
    EXPECT_EQ(floats_of(upload_overlapped(filled(x_shape, 2), gpu())), floats_of(filled(x_shape, 2)));
}

TEST(RecordedRuns, KeepOutputsOfEarlierRuns) {
    Graph graph = net();
    Executable executable(graph, recorded());
    std::vector<Tensors> kept;
    for (int i = 0; i < 5; ++i) {
        Tensor x = to_device(filled(x_shape, i), gpu());
        kept.push_back(executable.run({&x, 1}));
    }
    for (int i = 0; i < 5; ++i) expect_as_on_cpu(graph, filled(x_shape, i), kept[size_t(i)], i);
}

// Inputs too large to be copied, at addresses that repeat in turn and at new ones.
TEST(RecordedRuns, ReadInputsAtAnyAddress) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {300000}, {}}, "x"),
               y = builder.input({DType::f32, {3}, {}}, "y");
        builder.set_outputs({ops::mul(x, ops::sum(y)), ops::add(y, y)});
    }
    CompileOptions options = recorded();
    options.comp_node_seq_record_level = 0;
    Executable executable(builder.take(), options);
    std::vector<Tensor> places, kept;
    for (int i = 0; i < 3; ++i) places.push_back(to_device(filled({300000}, i), gpu()));
    for (int i = 0; i < 12; ++i) {
        int place = i < 10 ? i % 2 : 2;
        Tensors inputs{places[size_t(place)], to_device(filled({3}, i), gpu())};
        Tensors outputs = executable.run(inputs);
        if (i % 3 == 0) kept.push_back(inputs[1]);
        auto x = floats_of(filled({300000}, place)), y = floats_of(filled({3}, i)), z = floats_of(outputs[0]);
        for (size_t k : {0, 1, 7, 299999})
            EXPECT_FLOAT_EQ(z[k], x[k] * (y[0] + y[1] + y[2])) << "run " << i << ", " << k;
        EXPECT_THAT(floats_of(outputs[1]), testing::ElementsAre(2 * y[0], 2 * y[1], 2 * y[2]));
    }
}

// Too many inputs to be copied, at places that come three times each, more of them than are recorded; the
// last ones come again, then with other arenas.
TEST(RecordedRuns, EndAtUnrecordablePlaces) {
    constexpr size_t n_inputs = 9, n_places = 20;
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor sum;
        for (size_t i = 0; i < n_inputs; ++i) {
            Tensor x = ops::exp(builder.input({DType::f32, x_shape, {}}, "x" + std::to_string(i)));
            sum = i ? ops::add(sum, x) : x;
        }
        builder.set_outputs({ops::softmax(sum, {.axis = -1})});
    }
    Graph graph = builder.take();
    auto context = Context::create(Program::compile(graph, recorded()));
    std::vector<Tensors> here(n_places), there(n_places);
    for (size_t place = 0; place < n_places; ++place)
        for (size_t i = 0; i < n_inputs; ++i) {
            here[place].push_back(filled(x_shape, int(place * n_inputs + i)));
            there[place].push_back(to_device(here[place].back(), gpu()));
        }
    auto check = [&](size_t place, int run) {
        for (size_t i = 0; i < n_inputs; ++i) context->bind_input(i, there[place][i].address());
        context->run();
        Tensor expected = Executable(graph, {}).run(here[place])[0];
        EXPECT_THAT(floats_of(outputs_of(*context)[0]),
                    testing::Pointwise(testing::FloatNear(1e-5F), floats_of(expected)))
            << "run " << run << " at place " << place;
    };
    for (int run = 0; run < int(3 * n_places); ++run) check(size_t(run) / 3, run);
    for (int run = 0; run < 40; ++run) {
        if (run == 20) context->memory()->clear();
        auto elsewhere = queue_of(gpu()).allocate(size_t(1) << 20);
        check(size_t(run) % n_places, run);
    }
}

// Inputs are updated in place, as parameters in a training step.
TEST(RecordedRuns, OverwriteDonatedInputs) {
    GraphBuilder builder;
    {
        InterpreterScope scope(builder);
        Tensor x = builder.input({DType::f32, {300000}, {}}, "x"),
               y = builder.input({DType::f32, {300000}, {}}, "y");
        builder.set_outputs({ops::add(x, y), ops::sum(y)});
    }
    CompileOptions options = recorded();
    options.comp_node_seq_record_level = 0;
    Executable executable(builder.take(), options);
    Tensor y = to_device(filled({300000}, 1), gpu());
    std::vector<Tensor> state{to_device(filled({300000}, 0), gpu()), y};
    auto x = floats_of(state[0]), step = floats_of(y);
    for (int i = 0; i < 8; ++i) {
        void* before = state[0].address();
        state[0] = executable.run(state, nullptr, {true, false})[0];
        EXPECT_TRUE(i == 0 || state[0].address() == before) << "run " << i;
        auto now = floats_of(state[0]);
        for (size_t k : {0, 1, 299999}) EXPECT_FLOAT_EQ(now[k], x[k] + float(i + 1) * step[k]) << "run " << i;
    }
}

TEST(RecordedRuns, AreMadeAgainWhenArenasMove) {
    Graph graph = net();
    auto context = Context::create(Program::compile(graph, recorded()));
    for (int i = 0; i < 8; ++i) {
        Tensor x = filled(x_shape, i);
        context->fill_inputs({&x, 1});
        if (i == 4) context->memory()->clear();
        auto elsewhere = queue_of(gpu()).allocate(size_t(1) << 20);
        context->run();
        expect_as_on_cpu(graph, x, outputs_of(*context), i);
    }
}

// The error names the matrix without inverse, so the host reads values.
TEST(RecordedRuns, AreDisabledIfAStepWaits) {
    Graph graph = graph_of([](const Tensor& x) {
        return Tensors{ops::exp(ops::matinv(ops::add(x, ops::eye({.n = 3, .m = 3}))))};
    });
    auto context = Context::create(Program::compile(graph, recorded()));
    for (int i = 0; i < 4; ++i) {
        Tensor x = ops::mul(filled(x_shape, i), make_tensor(DType::f32, {1}, {0.1}));
        context->fill_inputs({&x, 1});
        context->run();
        expect_as_on_cpu(graph, x, outputs_of(*context), i);
    }
}

// NCCL would exchange at once, over the results of the run that is recorded.
TEST(RecordedRuns, AreDisabledIfAnotherLibraryUsesTheStream) {
    Queue& queue = queue_of(gpu());
    auto& recorder = dynamic_cast<RecordingQueue&>(queue);
    StorageRef block = queue.allocate(8);
    auto fill = [&] { queue.fill(block->data, 0, 8); };
    EXPECT_TRUE(recorder.record_work(fill));
    EXPECT_FALSE(recorder.record_work([&] {
        fill();
        dynamic_cast<StreamSharingQueue&>(queue).stream_address();
    }));
}

struct CountedSteps : StepObserver {
    size_t steps = 0;
    void before_step(size_t, Context&) override { ++steps; }
};

TEST(RecordedRuns, ShowTheirStepsToObservers) {
    Graph graph = net();
    auto context = Context::create(Program::compile(graph, recorded()));
    CountedSteps counted;
    for (int i = 0; i < 6; ++i) {
        Tensor x = filled(x_shape, i);
        context->fill_inputs({&x, 1});
        context->observe(i == 4 ? &counted : nullptr);
        context->run();
        expect_as_on_cpu(graph, x, outputs_of(*context), i);
    }
    EXPECT_EQ(counted.steps, context->program().steps().size());
}

}  // namespace
}  // namespace mge::test
