// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks in a sequence of operators, found by structure alone.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::dump {

// Consecutive operators, and the blocks inside. `name` is empty for a single operator without a block.
struct Block {
    std::string name;
    std::vector<NodeId> nodes;
    std::vector<Block> inside;  // empty: the operators themselves
};

// Divides operators, which are in topological order, into stages of equal image size, equal blocks in a row,
// and residual blocks.
std::vector<Block> find_blocks(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace mge::dump
