// SPDX-License-Identifier: Apache-2.0
#include "tests/model/sample_models.h"

#include "libmge/device/device.h"
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

}  // namespace

std::vector<Model> sample_models() { return {joined(), sum(), converted()}; }

}  // namespace mge
