// SPDX-License-Identifier: Apache-2.0
#include "python/src/dimension_names.h"

#include "libmge/graph/dimension_sizes.h"
#include "python/src/graph_names.h"

namespace nb = nanobind;

namespace mge::python {

nb::dict input_shapes_of(const Graph& graph) {
    nb::dict result;
    auto names = names_of(graph, graph.inputs());
    for (size_t i = 0; i < names.size(); ++i) {
        auto& input = graph.value(graph.inputs()[i]);
        nb::list shape;
        for (int axis = 0; axis < input.spec.shape.rank(); ++axis) {
            auto* open = find_dimension(input.dimensions, axis);
            if (!open)
                shape.append(input.spec.shape[axis]);
            else if (open->name.empty())
                shape.append(nb::none());
            else
                shape.append(nb::str(open->name.data(), open->name.size()));
        }
        result[nb::str(names[i].data(), names[i].size())] = nb::tuple(shape);
    }
    return result;
}

}  // namespace mge::python
