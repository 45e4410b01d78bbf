// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes and small values of a graph as functions of its open dimensions. A size that is known only at run
// time, such as the number of elements that pass a mask, is a symbol like an open dimension.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::to_onnx {

// Which axes of the inputs are open, from the most axes to the fewest: all open dimensions; named ones, and
// first axes that are open without a name; all first axes of the current batch size; none.
enum class OpenAxes { all, named, batch, none };

// The shapes of a graph's inputs, where open sizes are symbols.
struct OpenInputs {
    std::vector<Shape> shapes;
    std::map<std::string, Extent> dimensions{};  // by name, if they are open
    int64_t batch = 0;                           // the current batch size if a first axis is open
};
// Sizes that the graph accepts only as numbers are numbers.
OpenInputs open_inputs(const Graph& graph, OpenAxes open);

class Shapes {
public:
    // The graph's values get the shapes that follow from those of the inputs. Names of symbols that operators
    // add begin with the prefix. The graph must outlive this object.
    Shapes(Graph& graph, const OpenInputs& inputs, const std::string& prefix);

    // Returns the name of the open dimension that this size is; empty if there is none.
    std::string dimension_name(ValueId id, int axis) const;
    // Nullopt where it depends on the run.
    std::optional<int64_t> extent(ValueId id, int axis) const;
    std::optional<Shape> fixed(ValueId id) const;
    // In every run the shapes, or the sizes of these axes, are equal.
    bool is_same(ValueId a, ValueId b) const;
    bool is_same_extent(ValueId a, int axis_a, ValueId b, int axis_b) const;
    // The value if it is known before a run and the same in every run; otherwise null.
    Tensor value(ValueId id) const { return constants_[size_t(id)]; }

private:
    const Shape& shape(ValueId id) const { return graph_.value(id).spec.shape; }

    const Graph& graph_;
    std::map<std::string, Extent> dimensions_;
    Tensors constants_;  // by value
};

}  // namespace mge::to_onnx
