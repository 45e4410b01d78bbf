// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which shapes of a graph are related at all input shapes, and which only now: decided by symbolic inference
// (graph/symbolic/symbolic_shapes.h). Questions that it cannot decide are answered with no.

#include <map>
#include <vector>

#include "libmge/passes/pass.h"
#include "libmge/tensor/extent.h"

namespace mge {

class OtherShapes {
public:
    // A graph of fixed shapes has its present shapes always.
    OtherShapes(const Graph& graph, const PassOptions& options);

    bool is_same_shape(ValueId a, ValueId b) const;
    bool is_same_extent(ValueId a, int axis_of_a, ValueId b, int axis_of_b) const;
    bool is_fixed(ValueId value, int axis) const;

private:
    bool are_same(const Extent& a, const Extent& b) const;
    Extent representative(Extent extent) const;

    std::vector<Shape> shapes_;  // by value
    // Extents that the graph demands to be equal to another, by Extent::raw(): a forest.
    std::map<int64_t, Extent> equals_;
};

}  // namespace mge
