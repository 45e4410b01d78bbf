// SPDX-License-Identifier: Apache-2.0
#pragma once
// Axes, shapes and numbers that are inputs of the model, so that they are known only at run time. Parameters
// of our operators are expressed here by shapes and indices that are computed before each run. The ranks of
// inputs must be known; results may be unknown.

#include "libmge/model/import/onnx/parts.h"

namespace mge::onnx {

// A run ends with an error unless two tensors agree; reading does so if both are known. The error contains
// the claim and the first number of `given` that differs.
void require_equal(const Tensor& wanted, const Tensor& given, const std::string& claim);
// The same unless all numbers are within bounds.
void require_within(const Tensor& given, int64_t least, int64_t most, const std::string& claim);
// Larger than all sizes; the smallest numbers have other meanings for our slices.
inline constexpr int64_t beyond = int64_t(1) << 40;
// The numbers clipped to ±`beyond`.
Tensor bounded(const Tensor& numbers);

// Axes from 0 on, as i64, whatever end they count from.
Tensor late_axes(const Tensor& axes, int rank);
// The numbers of a vector at the axes that another one names, all others from `otherwise`, i64 (rank).
Tensor spread_over_axes(const Tensor& numbers, const Tensor& axes, const Tensor& otherwise);
// The length of a vector, which must be known.
int length_of(const Tensor& vector, std::string_view what);
// Sizes, those of them that are known before a run.
using Extents = std::vector<std::optional<SymbolicExtent>>;
// Nullopt: the number of sizes is unknown.
std::optional<Extents> known_extents(const Tensor& shape);
Extents extents_of_shape(const Tensor& t);
// A value whose shape is known only at run time, with the given rank and sizes.
Tensor with_extents(const Tensor& made, const std::optional<Extents>& extents);
Tensor with_shape_of(const Tensor& made, const Tensor& shape);
// A column of numbers before `trailing` axes, of a size that may be unknown.
Tensor as_column(const Tensor& numbers, int trailing);

// `count` elements of an axis of size `have` from `first` on; x itself may have an unknown shape by then.
// Elements outside are `value`, or elements of x.
enum class Outside { value, edge, mirrored, wrapped };
struct Stretch {
    int axis, trailing;  // axes behind it
    Extent have, first, count;
};
Tensor stretch_of(const Tensor& x, const Stretch& stretch, Outside outside, const Tensor& value);

// A reduction of some axes that a run names.
using ReduceFixed = std::function<Tensor(const Tensor& x, const IntList& axes)>;
Tensor late_reduced(const Tensor& x, const Tensor& axes, bool keepdims, const ReduceFixed& reduce);

Tensor late_unsqueezed(const Tensor& x, const Tensor& axes);
Tensor late_squeezed(const Tensor& x, const Tensor& axes);
Tensors late_split(const Tensor& x, int axis, const Tensor& sizes, size_t parts);
Tensor late_tiled(const Tensor& x, const Tensor& repeats);
// `axes` and `steps` may be null.
Tensor late_sliced(const Tensor& x, const Tensor& starts, const Tensor& ends, const Tensor& axes,
                   const Tensor& steps);
// Numbers of elements before each of the axes, followed by those after each; `axes` may be null.
Tensor late_padded(const Tensor& x, const Tensor& pads, const Tensor& axes, Outside outside,
                   const Tensor& value);
// f of the one axis that a run names, of those that leave the shape as it is.
Tensor along_late_axis(const Tensor& x, const Tensor& axis, const std::function<Tensor(int axis)>& f);

}  // namespace mge::onnx
