// SPDX-License-Identifier: Apache-2.0
#pragma once
// Places the boxes of a folded graph with Graphviz, ahead of time. Each fold has one layout per level: at
// level 0 its folds are closed boxes, at level 1 they are open and show their own level 0, and so on. A
// layout is small, whatever the size of the graph, so that graphs of 10,000 operators take seconds.

#include <functional>
#include <string>
#include <vector>

#include "apps/dump/graph_folds.h"

namespace mge::dump {

struct BoxSize {
    double width = 0, height = 0;
};

// A value that enters or leaves a fold.
struct Port {
    std::string label;
    NodeId node = -1;  // the operator outside that makes or reads it; -1: input or output of the graph
};

// Pixels; x and y are the middle. Exactly one of `item` and `port` is set.
struct PlacedBox {
    FoldItem item;
    int port = -1;  // index into Layout::ports
    double x = 0, y = 0;
    BoxSize size;
};

struct PlacedEdge {
    size_t from = 0, to = 0;     // indices into Layout::boxes
    std::vector<double> points;  // x and y of a Bézier curve's points: 1 + 3 n
};

struct Layout {
    BoxSize size;
    std::vector<Port> ports;
    std::vector<PlacedBox> boxes;
    std::vector<PlacedEdge> edges;
};

// Height of the title of an open fold, and the margin around its boxes.
inline constexpr double fold_title = 24, fold_margin = 8;

// Returns the layouts of each fold by level. `size_of` gives the size of an operator or a closed fold. Throws
// DeviceError if Graphviz is not installed.
std::vector<std::vector<Layout>> place_folds(const Graph& graph, const FoldTree& tree,
                                             const std::function<BoxSize(FoldItem)>& size_of);

}  // namespace mge::dump
