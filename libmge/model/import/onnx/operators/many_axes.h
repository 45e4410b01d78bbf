// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors with more axes than ours support. When files divide volumes into windows, they reshape, transpose
// and reshape again: in between the elements are stored with fewer axes, and the shape of the file
// separately.

#include "libmge/model/import/onnx/handles.h"
#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

struct ManyAxes {
    Tensor elements;  // in order, under any axes
    IntList extents;  // one may be -1: it differs between runs
};

using TensorsOfManyAxes = Handles<ManyAxes>;

// x of a reshape with the sizes of its target; null if these are few enough.
Tensor with_many_axes(const Site& site, bool allows_zero);
// The same of a transposition.
Tensor transposed_axes(const Site& site, const ManyAxes& x, const IntList& pattern);
// x with axes of one element at these places.
Tensor with_more_axes(const Site& site, const IntList& axes);
// The result of a broadcasting function of two operands with many axes; null if they have few enough.
Tensor combined_axes(const Site& site, ImportFunction combine);

}  // namespace mge::onnx
