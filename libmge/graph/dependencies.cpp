// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/dependencies.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "libmge/graph/inner_graph.h"
#include "libmge/graph/origins.h"
#include "libmge/graph/require_value.h"
#include "libmge/ops/shape/wait_for.h"

namespace mge {
namespace {

constexpr auto dependencies_option = "extra_vardeps";

// Sorts topologically, keeping the order of the nodes where possible.
class Order {
public:
    Order(const Graph& graph, std::string_view who)
        : graph_(graph), who_(who), waits_(graph.nodes().size()), followers_(graph.nodes().size()) {
        NodeId effect = -1;
        for (size_t i = 0; i < graph.nodes().size(); ++i) {
            auto& node = graph.node(NodeId(i));
            for (ValueId id : node.inputs)
                if (id != no_value) let_wait(NodeId(i), graph.value(id).producer);
            if (!has_effect(node)) continue;
            let_wait(NodeId(i), effect);
            effect = NodeId(i);
        }
    }

    std::vector<NodeId> run() {
        std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
        for (size_t i = 0; i < waits_.size(); ++i)
            if (waits_[i] == 0) ready.push(NodeId(i));
        std::vector<NodeId> order;
        while (!ready.empty()) {
            NodeId id = ready.top();
            ready.pop();
            order.push_back(id);
            for (NodeId follower : followers_[size_t(id)])
                if (--waits_[size_t(follower)] == 0) ready.push(follower);
        }
        if (order.size() != waits_.size()) refuse();
        return order;
    }

private:
    void let_wait(NodeId node, NodeId until) {
        if (until < 0) return;
        ++waits_[size_t(node)];
        followers_[size_t(until)].push_back(node);
    }
    [[noreturn]] void refuse() const {
        auto stuck = std::ranges::find_if(waits_, [](int waits) { return waits > 0; });
        auto& node = graph_.node(NodeId(stuck - waits_.begin()));
        throw_value_error(who_, operator_text(graph_, node), " would have to wait for itself");
    }

    const Graph& graph_;
    const std::string_view who_;
    std::vector<int> waits_;
    std::vector<std::vector<NodeId>> followers_;  // by node: the nodes that wait for it, once per reason
};

void read_instead(Graph& graph, ValueId old, ValueId now, NodeId but) {
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (NodeId(i) != but) std::ranges::replace(graph.node(NodeId(i)).inputs, old, now);
    auto outputs = graph.outputs();
    if (std::ranges::find(outputs, old) == outputs.end()) return;
    std::ranges::replace(outputs, old, now);
    graph.set_outputs(std::move(outputs));
    graph.value(now).name = graph.value(old).name;
}

}  // namespace

Graph order_after(Graph graph, const std::map<ValueId, std::vector<ValueId>>& others) {
    if (others.empty()) return graph;
    note_origins(graph);
    for (auto& [value, first] : others) {
        require_value(graph, value, dependencies_option);
        std::vector<ValueId> inputs{value};
        for (ValueId id : first) {
            require_value(graph, id, dependencies_option);
            inputs.push_back(id);
        }
        TensorSpecs same{graph.value(value).spec};
        NodeId node = graph.add_node(ops::WaitFor::info, ops::WaitFor::info.params.make(), std::move(inputs),
                                     {}, &same);
        read_instead(graph, value, graph.node(node).outputs[0], node);
    }
    graph.reorder(dependency_order(graph, dependencies_option));
    return graph;
}

std::vector<NodeId> dependency_order(const Graph& graph, std::string_view who) {
    return Order(graph, who).run();
}

}  // namespace mge
