// SPDX-License-Identifier: Apache-2.0
#include "libmge/train/graph_function.h"

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

// Marks the candidates that gradients of the outputs reach.
std::vector<bool> reached(Graph graph, const std::vector<ValueId>& candidates) {
    std::vector<ValueId> ys, dys;
    for (ValueId id : graph.outputs()) {
        if (!is_float(graph.value(id).spec.dtype)) continue;
        ys.push_back(id);
        dys.push_back(graph.add_input(graph.value(id).spec, {}));
    }
    std::vector<bool> result;
    for (ValueId grad : add_gradient(graph, ys, dys, candidates)) result.push_back(grad != no_value);
    return result;
}

std::vector<ValueId> weights_of(const Graph& graph) {
    std::vector<ValueId> candidates, weights;
    for (ValueId id = 0; id < ValueId(graph.values().size()); ++id) {
        auto& value = graph.value(id);
        bool may_learn = value.is_constant() && !value.name.empty() && value.spec.shape.rank() > 0 &&
                         is_float(value.spec.dtype);
        if (may_learn) candidates.push_back(id);
    }
    auto is_reached = reached(graph, candidates);
    for (size_t i = 0; i < candidates.size(); ++i)
        if (is_reached[i]) weights.push_back(candidates[i]);
    return weights;
}

// Marks constants whose elements operators compute with.
std::vector<bool> constants_at_place(const Graph& graph) {
    std::vector<bool> result(graph.values().size());
    for (auto& node : graph.nodes())
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            ValueId id = node.inputs[i];
            bool is_read = id != no_value && input_info(*node.op, i).kind != InputKind::host;
            if (is_read && graph.value(id).is_constant()) result[size_t(id)] = true;
        }
    return result;
}

}  // namespace

GraphFunction::GraphFunction(Graph graph, DeviceId place) {
    std::vector<ValueId> inputs = graph.inputs();
    auto make_input = [&](ValueId id) {
        auto& value = graph.value(id);
        Tensor given = tensor_from_host(value.spec, value.constant.data(), place);
        value.constant = {};
        value.is_input = true;
        inputs.push_back(id);
        return given;
    };
    for (ValueId id : weights_of(graph)) {
        std::string name = graph.value(id).name;
        weights_.push_back({name, make_input(id)});
    }
    if (!(place == host_device)) {
        auto is_at_place = constants_at_place(graph);
        for (size_t i = 0; i < is_at_place.size(); ++i)
            if (is_at_place[i] && graph.value(ValueId(i)).is_constant())
                others_.push_back(make_input(ValueId(i)));
    }
    graph.set_inputs(std::move(inputs));
    function_ = make_subgraph(std::move(graph));
}

Tensors GraphFunction::call(std::span<const Tensor> inputs, std::span<const Tensor> weights) const {
    size_t own = function_->input_count() - weights_.size() - others_.size();
    if (inputs.size() != own || weights.size() != weights_.size())
        throw_value_error("GraphFunction", "it takes ", counted(own, "input"), " and ",
                          counted(weights_.size(), "weight"), ", got ", inputs.size(), " and ",
                          weights.size());
    Tensors all(inputs.begin(), inputs.end());
    all.insert(all.end(), weights.begin(), weights.end());
    for (auto& other : others_)
        all.push_back(to_device(other, all.empty() ? other.device() : all[0].device()));
    return function_->apply(all);
}

}  // namespace mge
