// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/require_value.h"

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"

namespace mge {

void require_value(const Graph& graph, ValueId id, std::string_view who) {
    if (!graph.find_value(id)) throw_missing(who, "value", id, graph.values().size());
}

void throw_missing(std::string_view who, std::string_view what, int id, size_t count) {
    throw_user(std::string(who),
               text("there is no ", what, ' ', id, "; the graph has ", counted(count, what)),
               ErrorClass::index);
}

}  // namespace mge
