// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/region.h"

#include <algorithm>
#include <map>

namespace mge {

std::vector<NodeId> grow_region(const Graph& graph, ValueId result,
                                const std::function<bool(ValueId value, int readings)>& accepts) {
    const NodeId last = graph.value(result).producer;
    std::vector<NodeId> region;
    std::map<NodeId, std::map<ValueId, int>, std::greater<>> open{{last, {}}};  // with readings of results
    while (!open.empty()) {
        auto [id, readings] = std::move(*open.begin());
        open.erase(open.begin());
        bool joins = id == last;
        for (auto [value, count] : readings) joins |= accepts(value, count);
        if (!joins) continue;
        region.push_back(id);
        for (ValueId input : graph.node(id).inputs)
            if (input != no_value && graph.value(input).producer >= 0)
                ++open[graph.value(input).producer][input];
    }
    return region;
}

std::vector<ValueId> inputs_of_region(const Graph& graph, std::span<const NodeId> region) {
    std::vector<ValueId> inputs;
    for (NodeId id : region)
        for (ValueId value : graph.node(id).inputs) {
            if (value == no_value || std::ranges::find(inputs, value) != inputs.end()) continue;
            bool is_inside = std::ranges::find(region, graph.value(value).producer) != region.end();
            if (!is_inside) inputs.push_back(value);
        }
    return inputs;
}

}  // namespace mge
