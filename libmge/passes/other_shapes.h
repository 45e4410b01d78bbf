// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a graph's shapes is so at all input shapes, and what only now. Found out by trying: other batches,
// heights and widths, of one input or of all together, and each axis by itself. Extents that the graph
// refuses say nothing; what is equal at all that it accepts counts as equal always.

#include <vector>

#include "libmge/passes/pass.h"

namespace mge {

class OtherShapes {
public:
    // Nothing is tried for a graph of fixed shapes: everything is as it is now.
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
