// SPDX-License-Identifier: Apache-2.0
#include "steady_state/programs.h"

#include <cstring>
#include <random>

#include "libmge/graph/builder.h"
#include "libmge/mge.h"
#include "libmge/op/subgraph.h"

namespace mge::steady_state {
namespace {

constexpr int warm_up_runs = 5;

Tensor random_tensor(const Shape& shape) {
    static std::mt19937 random(1);
    TensorSpec spec{DType::f32, shape, {}};
    std::vector<float> values(size_t(spec.numel()));
    std::normal_distribution<float> normal(0, 0.2F);
    for (float& value : values) value = normal(random);
    return tensor_from_host(spec, values.data());
}

std::unique_ptr<Context> warmed_up(const Graph& graph, int threads) {
    CompileOptions options;
    options.threads = threads;
    auto program = Program::compile(graph, options);
    auto context = Context::create(program);
    Tensor x = random_tensor(program->inputs().at(0).spec.shape);
    std::memcpy(context->input(0), x.data(), size_t(x.spec().numel()) * sizeof(float));
    for (int i = 0; i < warm_up_runs; ++i) context->run();
    return context;
}

}  // namespace

std::unique_ptr<Context> own_kernels() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {64, 1024}, {}}, "x");
    {
        InterpreterScope scope(builder);
        Tensor y = ops::add(x, random_tensor({1024}));
        y = ops::mul(ops::tanh(y), ops::exp(x));
        y = ops::sub(y, ops::mean(y, {.axes = {1}, .keepdims = true}));
        builder.set_outputs({ops::relu(y)});
    }
    return warmed_up(builder.take(), 1);
}

std::unique_ptr<Context> convolution_net() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {1, 3, 64, 64}, {}}, "x");
    {
        InterpreterScope scope(builder);
        Tensor y = ops::conv2d(x, random_tensor({32, 3, 3, 3}), {.padding = {1, 1}});
        y = ops::max_pool2d(ops::relu(y), {.kernel = {2, 2}, .stride = {2, 2}});
        Tensor z = ops::conv2d(y, random_tensor({32, 32, 3, 3}), {.padding = {1, 1}});
        y = ops::relu(ops::add(y, z));
        y = ops::mean(y, {.axes = {2, 3}});
        y = ops::matmul(y, random_tensor({32, 100}));
        builder.set_outputs({ops::softmax(y, {.axis = 1})});
    }
    return warmed_up(builder.take(), 2);
}

std::unique_ptr<Context> small_gradients() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {2, 6, 8, 8}, {}}, "x");
    {
        InterpreterScope scope(builder);
        Tensor weight = random_tensor({8, 6, 3, 3}), dy = random_tensor({2, 8, 6, 6});
        builder.set_outputs(
            {ops::conv2d_backward_weight(x, dy, weight), ops::conv2d_backward_data(weight, dy, x)});
    }
    return warmed_up(builder.take(), 2);
}

std::unique_ptr<Context> nested_loops() {
    TensorSpec counter{DType::i32, {1}, {}}, row{DType::f32, {16}, {}};
    auto one = [] { return ops::full({.shape = {1}, .value = 1, .dtype = DType::i32}); };
    auto condition = make_subgraph(TensorSpecs{counter, row}, [&](std::span<const Tensor> in) -> Tensors {
        return {ops::less(in[0], ops::full({.shape = {1}, .value = 3, .dtype = DType::i32}))};
    });
    auto inner = make_subgraph(TensorSpecs{counter, row}, [&](std::span<const Tensor> in) -> Tensors {
        Tensor sums = ops::cumsum(ops::cumsum(in[1], {.axis = 0}), {.axis = 0});
        return {ops::add(in[0], one()), ops::tanh(sums)};
    });
    auto body = make_subgraph(TensorSpecs{row, row}, [&](std::span<const Tensor> in) -> Tensors {
        Tensor zero = ops::full({.shape = {1}, .value = 0, .dtype = DType::i32});
        Tensor h = ops::cumsum(ops::add(in[0], in[1]), {.axis = 0});
        return {ops::while_loop({zero, h}, {condition, inner, 2})[1], h};
    });
    GraphBuilder builder;
    Tensor xs = builder.input({DType::f32, {8, 16}, {}}, "xs");
    {
        InterpreterScope scope(builder);
        Tensor start = ops::mean(xs, {.axes = {0}});
        builder.set_outputs(ops::scan({start, xs}, {.body = body, .carried = 1, .sliced = 1}));
    }
    return warmed_up(builder.take(), 1);
}

}  // namespace mge::steady_state
