// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about tensors that hold at all sizes of a model's inputs. A model is recorded with some sizes; beside
// it, every shape and every small integer value is inferred as an expression of the open sizes. Something is
// fixed if its expression is a number.

#include <optional>
#include <vector>

#include "libmge/graph/symbolic/symbolic_inference.h"
#include "libmge/tensor/tensor.h"

namespace mge::onnx {

using SymbolicExtent = mge::Extent;

SymbolicValue symbolic_value(const Tensor& t);
Shape symbolic_shape(const Tensor& t);
// The rank, if it is known before a run.
std::optional<int> find_rank(const Tensor& t);
// A fixed size; nullopt: it differs between runs.
std::optional<int64_t> find_extent(const Tensor& t, int axis);
std::optional<Shape> find_shape(const Tensor& t);
// A fixed value; null: it is computed in each run.
Tensor find_value(const Tensor& t);
// The fixed numbers of a vector. Empty if its length is unknown.
std::vector<std::optional<int64_t>> find_numbers(const Tensor& vector);

// The symbol for a size of this value that is known only at run time.
SymbolicExtent unknown_extent(const Tensor& value, int axis);
// True if the size depends on something that is known only at run time.
bool is_known_late(const SymbolicExtent& extent);
// Declares the shape of a value where inference does not find it.
Tensor assume(const Tensor& value, const Shape& shape);
void assume_axes(const Tensor& value, int most_axes);
Tensor with_unknown_length(const Tensor& vector);

}  // namespace mge::onnx
