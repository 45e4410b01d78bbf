// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/escape_names.h"

#include "libmge/base/utf8.h"

namespace mge {

void escape_names(Model& model) {
    for (ValueId id = 0; id < ValueId(model.graph.values().size()); ++id)
        if (auto& name = model.graph.value(id).name; !is_utf8(name)) name = with_escaped_bytes(name);
    for (NodeId id = 0; id < NodeId(model.graph.nodes().size()); ++id)
        if (auto& name = model.graph.node(id).name; !is_utf8(name)) name = with_escaped_bytes(name);
    std::map<std::string, std::string> escaped;
    for (auto& [key, value] : model.metadata) escaped[with_escaped_bytes(key)] = with_escaped_bytes(value);
    model.metadata = std::move(escaped);
}

}  // namespace mge
