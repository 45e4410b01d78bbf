// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes for the open dimensions of a graph's inputs, by name.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns the open dimension at an axis; nullptr if the axis has a fixed size.
MGE_API const OpenDimension* find_dimension(const OpenDimensions& dimensions, int axis);
using DimensionNames = std::set<std::string, std::less<>>;
// Returns the names of all dimensions of the inputs, expressions among them.
MGE_API DimensionNames all_dimension_names(const Graph& graph);
// Returns the expression that a name is, all of whose symbols are other names; nullopt for any other name.
// "batch-size" alone is a name.
MGE_API std::optional<Extent> expression_over(const DimensionNames& names, const std::string& name);
// Returns the names that sizes can be given for, in order of first use. Without expressions over them.
MGE_API std::vector<std::string> dimension_names(const Graph& graph);
// Returns the specs of the inputs with these sizes, also in expressions. Throws UserError in the name of
// `who` if no dimension has such a name, or if a size is negative or out of bounds.
MGE_API TensorSpecs specs_with_sizes(const Graph& graph, const ExtentValues& sizes, std::string_view who);
// Describes the first input whose shape contradicts these sizes; nullopt if there is none.
MGE_API std::optional<std::string> find_contradiction(const Graph& graph, const ExtentValues& sizes,
                                                      const TensorSpecs& inputs);

// Infers shapes like infer_shapes. If inputs give one name different sizes, an error of an operator starts
// with the name, and success is a warning, because the model may broadcast.
MGE_API Graph infer_with_names(Graph graph, const TensorSpecs& inputs);

// Returns the shape with names and present sizes: "(batch=1, 3, ?=224)".
MGE_API std::string named_shape_text(const Shape& shape, const OpenDimensions& dimensions);

}  // namespace mge
