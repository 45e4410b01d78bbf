// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "libmge/graph/graph.h"

namespace mge {

// Throws UserError in the name of `who` if the graph has no such value.
MGE_API void require_value(const Graph& graph, ValueId id, std::string_view who);
// Throws that error for a node or value (`what`) of a graph that has `count` of them.
[[noreturn]] void throw_missing(std::string_view who, std::string_view what, int id, size_t count);

}  // namespace mge
