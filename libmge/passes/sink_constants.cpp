// SPDX-License-Identifier: Apache-2.0
// Constants that every step of a loop or a branch reads become constants of the inner graph: there they can
// be folded and packed.

#include <algorithm>
#include <map>

#include "libmge/graph/inner_graph.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/control/while_loop.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Inputs from `begin` on are the same in each step; in the inner graphs their indices are smaller by
// `before`.
struct Unchanging {
    size_t begin, before;
};

Unchanging unchanging_inputs(const Node& node) {
    if (node.op == &ops::Cond::info) return {1, 1};
    if (node.op == &ops::WhileLoop::info) return {size_t(node.as<ops::WhileLoop::Params>().carried), 0};
    if (node.op == &ops::Scan::info) {
        auto& params = node.as<ops::Scan::Params>();
        return {size_t(params.carried + params.sliced), 0};
    }
    return {node.inputs.size(), 0};
}

// The constants among the inputs that the inner graphs read, by index there.
std::map<size_t, Tensor> constants_of(const Graph& graph, const Node& node, Unchanging unchanging) {
    std::map<size_t, Tensor> constants;
    for (size_t i = unchanging.begin; i < node.inputs.size(); ++i)
        if (Tensor constant = constant_of(graph, node.inputs[i]))
            constants.emplace(i - unchanging.before, std::move(constant));
    return constants;
}

}  // namespace

Graph sink_constants(Graph graph, const PassOptions&) {
    if (std::ranges::none_of(graph.nodes(), [](auto& node) { return node.op->traits.control; })) return graph;
    Rewrite rewrite(graph);
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
        auto& node = graph.node(NodeId(n));
        auto unchanging = unchanging_inputs(node);
        auto constants =
            node.op->traits.control ? constants_of(graph, node, unchanging) : std::map<size_t, Tensor>();
        if (constants.empty()) {
            rewrite.copy(NodeId(n));
            continue;
        }
        std::vector<ValueId> inputs;
        for (size_t i = 0; i < node.inputs.size(); ++i)
            if (i < unchanging.begin || !constants.contains(i - unchanging.before))
                inputs.push_back(rewrite(node.inputs[i]));
        auto params = node.params;
        for (auto& held : held_graphs(node))
            params =
                with_param(*node.op, params.get(), held.parameter, held.graph->with_constants(constants));
        rewrite.copy_with(NodeId(n), std::move(params), std::move(inputs));
    }
    return rewrite.finish();
}

}  // namespace mge
