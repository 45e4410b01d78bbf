// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which algorithm computes each step. Constant inputs are handed to `prepare`, so that weights are packed
// once, ahead. With fast-run the fastest measured candidate is taken, unless its workspace would raise the
// arena above `workspace_factor` times what the heuristic choice needs.

#include <functional>
#include <vector>

#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/options/options.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"

namespace mge {

// One entry per step; empty (no algorithm) for dynamic steps. `bound` hears of each one that is final, before
// the next step's algorithm is prepared.
using Bound = std::function<void(size_t step, const Prepared&)>;
std::vector<Choice> bind_algorithms(const Graph& graph, const Schedule& schedule,
                                    const CompileOptions& options, const Bound& bound);

// The buffers that lie in the arena followed by the workspaces: what plan_memory gets. `buffer_block` and
// `workspace_block` say which block belongs to which buffer and step, -1 for none.
struct ArenaBlocks {
    std::vector<MemoryBlock> blocks;
    std::vector<int> buffer_block, workspace_block;
};
ArenaBlocks arena_blocks(const Schedule& schedule, const std::vector<size_t>& workspaces);

}  // namespace mge
