// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/halves.h"

#include <algorithm>

#include "libmge/graph/inner_graph.h"
#include "libmge/tensor/narrow.h"

namespace mge {
namespace {

bool is_short_float(const Value& value) {
    DType dtype = value.spec.dtype;
    return is_half(dtype) || (is_narrow(dtype) && !is_narrow_int(dtype));
}

bool holds_halves(const Node& node) {
    return std::ranges::any_of(held_graphs(node), [](auto& held) {
        auto& graph = graph_of(held.graph);
        return std::ranges::any_of(graph.values(), is_short_float) ||
               std::ranges::any_of(graph.nodes(), holds_halves);
    });
}

}  // namespace

std::vector<bool> behind_halves(const Graph& graph) {
    std::vector<bool> result;
    for (auto& value : graph.values()) result.push_back(is_short_float(value));
    for (auto& node : graph.nodes()) {
        bool reads_some = std::ranges::any_of(
            node.inputs, [&](ValueId id) { return id != no_value && result[size_t(id)]; });
        if (reads_some || holds_halves(node))
            for (ValueId id : node.outputs) result[size_t(id)] = true;
    }
    return result;
}

}  // namespace mge
