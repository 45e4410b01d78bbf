// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that follow from shapes, such as the target of a reshape, where extents are symbols.

#include <optional>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/tensor/extent.h"

namespace mge {

// The elements of a small tensor of integers in row-major order; nullopt if they are unknown.
using ExtentList = std::optional<std::vector<Extent>>;

// Returns the elements of a small constant of integers.
ExtentList extents_of(const Tensor& constant);

// Returns the elements of the outputs of a node, which is resolved. `shapes` and `values` are those of its
// inputs. Arithmetic is that of integers without limits.
std::vector<ExtentList> symbolic_outputs(const Node& node, std::span<const Shape> shapes,
                                         std::span<const ExtentList> values, const TensorSpecs& outputs);

}  // namespace mge
