// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "libmge/graph/graph.h"

namespace mge {

// UserError of `who` when the graph has no such value.
MGE_API void require_value(const Graph& graph, ValueId id, std::string_view who);
// That error, of a node or value ("node", "value") of a graph that has `count` of them.
[[noreturn]] void throw_missing(std::string_view who, std::string_view what, int id, size_t count);

}  // namespace mge
