// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "apps/dump/info.h"
#include "apps/dump/written.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/origins.h"
#include "libmge/op/apply.h"

namespace mge::dump {
namespace {

WeightRow weight_row(const std::string& name, const Tensor& tensor) {
    WeightRow row{name, tensor.spec()};
    auto n = double(tensor.spec().numel());
    if (n == 0) return row;
    Tensor real = convert_dtype(tensor, DType::f32);
    std::span values(real.data<float>(), size_t(n));
    double sum = 0, squares = 0;
    row.least = row.most = double(values[0]);
    for (float value : values) {
        sum += value;
        row.least = std::min(row.least, double(value));
        row.most = std::max(row.most, double(value));
        row.zeros += value == 0;
    }
    row.mean = sum / n;
    for (float value : values) squares += (value - row.mean) * (value - row.mean);
    row.deviation = std::sqrt(squares / n);
    return row;
}

OperatorRow operator_row(const Graph& graph, const Node& node, const std::string& name) {
    OperatorRow row{name, std::string(node.op->name), {}, {}, {}};
    for (ValueId id : node.inputs) row.inputs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
    for (ValueId id : node.outputs) row.outputs.push_back(graph.value(id).spec);
    row.flops = footprint(graph, node).operations;
    return row;
}

}  // namespace

ModelFigures figures_of(const Graph& graph) {
    ModelFigures figures;
    auto names = value_names(graph);
    for (size_t i = 0; i < names.size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (!value.is_constant()) continue;
        figures.weights.push_back(weight_row(names[i], value.constant));
        figures.weight_elements += value.constant.spec().numel();
        figures.weight_bytes += value.constant.spec().bytes();
    }
    Graph noted = graph;
    note_origins(noted);
    for (auto& node : noted.nodes()) {
        figures.operators.push_back(operator_row(noted, node, node_label(noted, node)));
        auto& row = figures.operators.back();
        figures.flops += row.flops.value_or(0);
        figures.operators_without_flops += !row.flops;
        for (ValueId id : node.outputs) {
            auto& spec = graph.value(id).spec;
            figures.activations.push_back({names[size_t(id)], row.op, spec});
            if (!spec.shape.is_known()) continue;
            figures.activation_elements += spec.numel();
            figures.activation_bytes += spec.bytes();
        }
    }
    return figures;
}

}  // namespace mge::dump
