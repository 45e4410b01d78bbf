// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator may write over an operand (OpInfo::in_place: item assignment, an optimizer's step, running
// statistics) only as its last reader. It and its dependents can often be moved after other readers.

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

// Moves operators after the other readers of the operands that they may overwrite, and returns how many. They
// are moved only if that puts more results in place without raising the peak. Elementwise operators stay:
// they are fused with the readers of their operands. The graph must have specs and devices; value ids stay.
MGE_API size_t write_last(Graph& graph, const CompileOptions& options);

}  // namespace mge
