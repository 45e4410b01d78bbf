// SPDX-License-Identifier: Apache-2.0
// The symbolic gradient of a whole step of training, compiled, against finite differences; and second order.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor random_tensor(const Shape& shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(random() % 2001) / 1000 - 1;
    return tensor_from_host(f32(shape), values.data());
}

// A two-layer perceptron with a softmax in between; the sum of squares of its outputs.
Tensor loss(const Tensors& x) {
    Tensor hidden = ops::add(ops::matmul(x[0], x[1]), x[2]);
    Tensor y = ops::matmul(ops::softmax(ops::tanh(hidden), {.axis = -1}), x[3]);
    return ops::sum(ops::mul(y, y));
}

const std::vector<Shape> shapes{{5, 4}, {4, 6}, {6}, {6, 3}};

TensorSpecs specs() {
    TensorSpecs result;
    for (auto& shape : shapes) result.push_back(f32(shape));
    return result;
}

Graph with_gradient(const Body& body, const TensorSpecs& inputs) {
    Graph graph = record(inputs, body);
    ValueId y = graph.outputs()[0];
    ValueId one = graph.add_constant(scalar_tensor(1, DType::f32));
    auto grads = add_gradient(graph, {y}, {one}, graph.inputs());
    std::vector<ValueId> outputs{y};
    outputs.insert(outputs.end(), grads.begin(), grads.end());
    graph.set_outputs(outputs);
    verify(graph);
    return graph;
}

TEST(SymbolicGradient, AgreesWithFiniteDifferences) {
    Graph graph = with_gradient([](const Tensors& x) { return Tensors{loss(x)}; }, specs());
    Tensors inputs;
    for (auto& shape : shapes) inputs.push_back(random_tensor(shape, uint32_t(inputs.size())));
    CompileOptions options;
    options.verify_passes = true;
    Tensors results = Executable(graph, options).run(inputs);
    EXPECT_NEAR(results[0].data<float>()[0], loss(inputs).data<float>()[0], 1e-4);
    constexpr float step = 1e-2f;
    for (size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_EQ(results[i + 1].shape(), inputs[i].shape());
        for (int64_t k = 0; k < inputs[i].spec().numel(); k += 3) {
            float* element = inputs[i].data<float>() + k;
            float kept = *element;
            *element = kept + step;
            float above = loss(inputs).data<float>()[0];
            *element = kept - step;
            float below = loss(inputs).data<float>()[0];
            *element = kept;
            EXPECT_NEAR(results[i + 1].data<float>()[k], (above - below) / (2 * step), 2e-2)
                << "input " << i << " element " << k;
        }
    }
}

TEST(SymbolicGradient, HasHigherOrders) {
    // y = sum(x^3): dy/dx = 3 x^2, and the gradient of its sum is 6 x.
    Graph graph = record(
        {f32({4})}, [](const Tensors& x) { return Tensors{ops::sum(ops::mul(ops::mul(x[0], x[0]), x[0]))}; });
    ValueId x = graph.inputs()[0], one = graph.add_constant(scalar_tensor(1, DType::f32));
    ValueId first = add_gradient(graph, {graph.outputs()[0]}, {one}, {x})[0];
    ValueId ones = graph.add_constant(constant({4}, {1}));
    ValueId second = add_gradient(graph, {first}, {ones}, {x})[0];
    graph.set_outputs({first, second});
    verify(graph);
    Tensors results = Executable(graph, {}).run(std::vector{constant({4}, {1, 2, -3, 0.5})});
    for (int i = 0; i < 4; ++i) {
        float v = std::vector<float>{1, 2, -3, 0.5}[size_t(i)];
        EXPECT_NEAR(results[0].data<float>()[i], 3 * v * v, 1e-4);
        EXPECT_NEAR(results[1].data<float>()[i], 6 * v, 1e-4);
    }
}

TEST(SymbolicGradient, IsEmptyWithoutAPath) {
    Graph graph = record({f32({4}), f32({4})}, [](const Tensors& x) {
        return Tensors{ops::sum(x[0]), ops::argmax(x[1], {.axis = 0})};
    });
    ValueId one = graph.add_constant(scalar_tensor(1, DType::f32));
    auto grads = add_gradient(graph, {graph.outputs()[0]}, {one}, graph.inputs());
    EXPECT_NE(grads[0], no_value);
    EXPECT_EQ(grads[1], no_value);
    EXPECT_THROW(add_gradient(graph, {graph.outputs()[0]}, {}, graph.inputs()), UserError);
    EXPECT_THROW(add_gradient(graph, {graph.outputs()[0]}, {one}, {999}), UserError);
}

}  // namespace
}  // namespace mge::test
