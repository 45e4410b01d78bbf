// SPDX-License-Identifier: Apache-2.0
#pragma once
// Properties of a graph's shapes that hold at all input shapes, or only now. They are found by trial: other
// batches, heights and widths, of one input or of all together, and each axis by itself. Sizes that the graph
// refuses prove nothing; properties that hold at all accepted sizes are assumed to hold always.

#include <vector>

#include "libmge/passes/pass.h"

namespace mge {

class OtherShapes {
public:
    // A graph of fixed shapes is not tried: all properties hold.
    OtherShapes(const Graph& graph, const PassOptions& options);

    bool is_same_shape(ValueId a, ValueId b) const;
    bool is_same_extent(ValueId a, int axis_of_a, ValueId b, int axis_of_b) const;
    bool is_fixed(ValueId value, int axis) const;

private:
    void try_inputs(const Graph& graph, const TensorSpecs& inputs);

    std::vector<std::vector<Shape>> shapes_;  // by trial, the present ones first; by value
    bool is_known_ = true;
};

}  // namespace mge
