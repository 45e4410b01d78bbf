// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operator that may write over an operand (OpInfo::in_place: item assignment, an optimizer's step, running
// statistics) does so only as the last to read it. Where others read that operand later, it and what needs
// its results can often wait for them.

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

// How many operators were moved behind the other readers of what they overwrite now. They are moved where
// that puts more results in place and no more bytes are alive at once than before. Elementwise operators stay
// where they are: what they would write over is read in one sweep with them. The graph has its specs and
// places, and keeps the ids of its values.
MGE_API size_t write_last(Graph& graph, const CompileOptions& options);

}  // namespace mge
