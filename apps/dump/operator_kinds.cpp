// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/operator_kinds.h"

#include "libmge/graph/footprint.h"

namespace mge::dump {

size_t kind_of(const Graph& graph, const Node& node) {
    enum : size_t { product, elementwise, movement, reduction, normalisation, other };
    auto& op = *node.op;
    if (op.epilogue || op.autocast == Autocast::narrow) return product;
    if (op.traits.elementwise) return elementwise;
    if (op.traits.control || op.traits.effect || node.inputs.empty() || node.inputs[0] == no_value)
        return other;
    if (!op.operations) return movement;
    auto &from = graph.value(node.inputs[0]).spec, &to = graph.value(node.outputs.at(0)).spec;
    bool is_counted = from.shape.is_known() && to.shape.is_known() && footprint(graph, node).operations;
    if (!is_counted) return other;
    return element_count(to) < element_count(from) ? reduction : normalisation;
}

}  // namespace mge::dump
