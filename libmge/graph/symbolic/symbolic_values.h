// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that follow from shapes, such as the target of a reshape, where extents are symbols.

#include <functional>
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

// Returns the tensor of these elements; null if one is symbolic.
Tensor constant_of(const std::vector<Extent>& elements, const TensorSpec& spec);

// A node with what is known of its inputs.
struct SymbolicApplication {
    const Node& node;
    std::span<const Shape> shapes;
    std::span<const ExtentList> elements;
    const TensorSpecs& outputs;
    // Returns a symbol for an element of an output that cannot be computed, or throws Undecidable.
    std::function<Extent(size_t output, size_t element)> unknown;
};
// For `unknown`.
[[noreturn]] void throw_unknown_element();

// Returns the elements of the outputs of a node. Arithmetic is that of integers without limits; elements of
// floating-point tensors are known only if they are whole numbers. Comparisons are decided only if sizes of 0
// give the same answer. A division by 0 has no meaning here.
std::vector<ExtentList> symbolic_outputs(const SymbolicApplication& application);

}  // namespace mge
