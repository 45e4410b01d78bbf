// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape inference for all shapes of the inputs at once: each of their extents is a symbol, and the extents of
// all values are expressions of these symbols.

#include <map>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/tensor/extent.h"

namespace mge {

struct SymbolicShapes {
    // By value. Unknown if the rank is known only at run time. Extents that an operator cannot infer
    // symbolically are symbols of their own, whose names begin with "?".
    std::vector<Shape> shapes;
    // Conditions on the symbols that inputs must meet, except those that `solved` implies.
    std::vector<Guard> guards;
    // Symbols that the graph determines: a weight fixes the channels of an image, say.
    std::map<std::string, Extent, std::less<>> solved;
};

// The symbol of an extent of an input is its name and axis, `data.0`. Dimensions with one name have a symbol
// each, because a run may give them different sizes if the model broadcasts. Inputs keep their ranks, and
// their extents are at least 1 unless one is 0 now. Everything holds at all shapes that the graph accepts.
MGE_API SymbolicShapes symbolic_shapes(const Graph& graph);

// The size of an axis of an input, given by its position.
using ExtentOfAxis = Extent (*)(const Graph& graph, size_t input, int axis);
// The same for these sizes of the inputs. The symbol of `name` becomes `?size name` with the bounds of the
// dimension, and is at least 1. Nothing is solved.
MGE_API SymbolicShapes symbolic_shapes(const Graph& graph, ExtentOfAxis extent_of);
// A number unless the graph declares the axis open. Then dimensions with one name have one size, and an
// expression of names has its value.
MGE_API Extent named_extent(const Graph& graph, size_t input, int axis);

}  // namespace mge
