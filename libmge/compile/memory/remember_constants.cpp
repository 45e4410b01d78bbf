// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/remember_constants.h"

#include <utility>

#include "libmge/graph/inner_graph.h"

namespace mge {

std::shared_ptr<const ConstantPrints> remember_constants(const Graph& graph) {
    Tensors constants;
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values())
            if (value.is_constant()) constants.push_back(value.constant);
    return std::make_shared<const ConstantPrints>(std::move(constants));
}

}  // namespace mge
