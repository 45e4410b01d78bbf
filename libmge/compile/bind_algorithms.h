// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selects the algorithm of each step. `prepare` receives constant inputs, so that weights are packed once, in
// advance. Fast-run selects the fastest measured candidate, unless its workspace would raise the arena above
// `workspace_factor` times the need of the heuristic choice.

#include <functional>
#include <vector>

#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/options/options.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

// Returns one entry per step; empty (no algorithm) for dynamic steps. Calls `bound` for each final choice,
// before the next step's algorithm is prepared.
using Bound = std::function<void(size_t step, const Prepared&)>;
std::vector<Choice> bind_algorithms(const Graph& graph, const Schedule& schedule,
                                    const CompileOptions& options, const Bound& bound);

// The blocks for plan_memory(): arena buffers, followed by workspaces. `buffer_block` and `workspace_block`
// map buffers and steps to blocks, -1 for none.
struct ArenaBlocks {
    std::vector<MemoryBlock> blocks;
    std::vector<int> buffer_block, workspace_block;
};
ArenaBlocks arena_blocks(const Schedule& schedule, const std::vector<size_t>& workspaces);

}  // namespace mge
