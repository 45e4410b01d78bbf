// SPDX-License-Identifier: Apache-2.0
#include "tests/model/sample_models.h"

#include "libmge/device/default_device.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/all.h"

namespace mge {
namespace {

template <class O>
ValueId add(Graph& graph, typename O::Params params, std::vector<ValueId> inputs, std::string name) {
    NodeId id = graph.add_node(O::info, std::make_shared<typename O::Params>(std::move(params)),
                               std::move(inputs), name);
    return graph.node(id).outputs[0];
}

Tensor filled(const Shape& shape, float value) {
    std::vector<float> values(size_t(shape.numel()), value);
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

Model joined() {
    Model model;
    ValueId x = model.graph.add_input({DType::f32, {2, 3}, {}}, "x");
    ValueId w = model.graph.add_constant(filled({2, 4}, 0.5f), "w");
    ValueId y = add<ops::Concat>(model.graph, {.axis = 1}, {x, w}, "join");
    model.graph.set_outputs({add<ops::Reshape>(model.graph, {.shape = {7, -1}}, {y}, "fold")});
    model.test_cases.push_back({"first", {filled({2, 3}, 1)}, {}});
    model.metadata["author"] = "test";
    return model;
}

Model sum() {
    Model model;
    ValueId a = model.graph.add_input({DType::f32, {5}, {}}, "a");
    ValueId b = model.graph.add_input({DType::f32, {5}, {}}, "b");
    model.graph.set_outputs({add<ops::Add>(model.graph, {}, {a, b}, "sum"), a});
    return model;
}

Model converted() {
    Model model;
    ValueId a = model.graph.add_input({DType::f32, {3, 0}, {}}, "empty");
    model.graph.set_outputs({add<ops::Convert>(model.graph, {.dtype = DType::i32}, {a}, "to_int")});
    return model;
}

// A convolution net in small, with what takes parameters by the handful.
Model convolved() {
    Model model;
    Graph& g = model.graph;
    ValueId x = g.add_input({DType::f32, {2, 3, 8, 8}, {}}, "image");
    ValueId w = g.add_constant(filled({4, 3, 3, 3}, 0.1f), "weight");
    ValueId b = g.add_constant(filled({1, 4, 1, 1}, 0.2f), "bias");
    ValueId y = add<ops::Conv2d>(g, {.stride = {2, 1}, .padding = {1, 1}, .activation = Activation::relu},
                                 {x, w, b}, "conv");
    y = add<ops::MaxPool2d>(g, {.kernel = {2, 2}, .stride = {2, 2}}, {y}, "pool");
    y = add<ops::Transpose>(g, {.pattern = {0, 2, 3, 1}}, {y}, "nhwc");
    y = add<ops::Mean>(g, {.axes = {1}, .keepdims = false}, {y}, "mean");
    y = add<ops::Flatten>(g, {.start = 1, .end = -1}, {y}, "flat");
    ValueId m = g.add_constant(filled({16, 5}, 0.3f), "matrix");
    y = add<ops::Matmul>(g, {}, {y, m}, "classify");
    g.set_outputs({add<ops::Softmax>(g, {.axis = 1}, {y}, "probability")});
    return model;
}

// Several outputs, lists of numbers, input values that inference needs, a shape known only at run time.
Model indexed() {
    Model model;
    Graph& g = model.graph;
    ValueId x = g.add_input({DType::f32, {6, 4}, {}}, "x");
    ValueId zero = g.add_constant(filled({}, 0), "zero");
    NodeId halves = g.add_node(
        ops::Split::info,
        std::make_shared<ops::Split::Params>(ops::Split::Params{.axis = 0, .sizes = {2, 4}}), {x}, "halves");
    ValueId tail = g.node(halves).outputs[1];
    ValueId part = add<ops::Slice>(g, {.items = {1, 3, INT64_MIN, -1, 0}}, {tail}, "backwards");
    ValueId mask = add<ops::Greater>(g, {}, {part, zero}, "positive");
    NodeId taken =
        g.add_node(ops::CondTake::info, std::make_shared<ops::CondTake::Params>(), {part, mask}, "taken");
    ValueId padded = add<ops::Pad>(g, {.before = {1, 0}, .after = {0, 2}}, {part}, "padded");
    g.set_outputs({g.node(taken).outputs[0], padded,
                   add<ops::OneHot>(g, {.num_classes = 3}, {add<ops::Argmax>(g, {.axis = 1}, {part}, "best")},
                                    "classes")});
    return model;
}

// Graphs inside of operators: a walk along xs whose steps take one of two ways.
Model walked() {
    TensorSpec row{DType::f32, {4}, {}};
    auto way = [&](auto fn) {
        return make_subgraph(TensorSpecs{row, row},
                             [=](std::span<const Tensor> in) -> Tensors { return {fn(in[0], in[1])}; });
    };
    auto then_graph = way([](auto& h, auto& x) { return ops::add(h, ops::mul(x, filled({4}, 0.5f))); });
    auto else_graph = way([](auto& h, auto& x) { return ops::tanh(ops::sub(h, x)); });
    auto body = make_subgraph(TensorSpecs{row, row}, [&](std::span<const Tensor> in) -> Tensors {
        Tensor sum = ops::sum(in[1], {.axes = {0}, .keepdims = true});
        return {ops::cond({sum, in[0], in[1]}, {then_graph, else_graph})[0], in[0]};
    });
    Model model;
    Graph& g = model.graph;
    ValueId h = g.add_input(row, "h"), xs = g.add_input({DType::f32, {3, 4}, {}}, "xs");
    ops::Scan::Params params{.body = body, .carried = 1, .sliced = 1};
    NodeId walk = g.add_node(ops::Scan::info, std::make_shared<ops::Scan::Params>(params), {h, xs}, "walk");
    g.set_outputs(g.node(walk).outputs);
    return model;
}

}  // namespace

std::vector<Model> sample_models() {
    return {joined(), sum(), converted(), convolved(), indexed(), walked()};
}

}  // namespace mge
