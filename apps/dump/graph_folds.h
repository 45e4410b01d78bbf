// SPDX-License-Identifier: Apache-2.0
#pragma once
// Folds a graph into a tree that people can read: a transformer layer, a stage of a convolutional network or
// a module is one box. The tree follows the scopes in the operators' names ("layers.0.q.MatMul",
// "/encoder/layer.0/MatMul"). Where names have none, it follows the structure: residual blocks are the parts
// between values that everything flows through, and equal blocks in a row are numbered.

#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::dump {

// An operator of the graph or a fold.
struct FoldItem {
    bool is_fold = false;
    int index = -1;  // NodeId, or an index into FoldTree::folds
};

struct Fold {
    std::string name;
    int parent = -1;
    std::vector<FoldItem> items;  // in topological order of their first operators
    std::vector<NodeId> nodes;    // all operators below, ascending
    int height = 0;               // 0: contains operators only
};

struct FoldTree {
    std::vector<Fold> folds;   // the first is the whole graph; parents come before their children
    std::vector<int> fold_of;  // the innermost fold of each operator
};

// The graph must have origins (note_origins).
FoldTree fold_graph(const Graph& graph);

// True for arithmetic on shapes: all results are a few integers.
bool is_shape_arithmetic(const Graph& graph, const Node& node);

}  // namespace mge::dump
