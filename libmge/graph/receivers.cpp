// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/receivers.h"

#include <algorithm>

#include "libmge/base/number_text.h"

namespace mge {
namespace {

int& count_for(Receivers& receivers, const Node& node, size_t input) {
    if (input_info(*node.op, input).kind == InputKind::host) return receivers.hosts;
    return node.op->traits.reads_only_specs ? receivers.shapes : receivers.values;
}

}  // namespace

std::string Receivers::to_string() const {
    std::string result;
    auto add = [&](int count, std::string_view one, std::string_view many) {
        if (count) result += text(result.empty() ? "" : ", ", counted(count, one, many));
    };
    add(outputs, "output", "outputs");
    add(values, "reader of values", "readers of values");
    if (values) result += text(" (the last is node ", last_value, ')');
    add(shapes, "reader of the shape", "readers of the shape");
    add(hosts, "reader on the host", "readers on the host");
    return result.empty() ? "nobody" : result;
}

Receivers receivers(const Graph& graph, ValueId id) {
    graph.value(id);
    Receivers result;
    result.outputs = int(std::ranges::count(graph.outputs(), id));
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            if (node.inputs[k] != id) continue;
            int& count = count_for(result, node, k);
            ++count;
            if (&count == &result.values) result.last_value = NodeId(i);
        }
    }
    return result;
}

}  // namespace mge
