// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of more axes than ours may have. Where files cut volumes into windows, they are reshaped,
// transposed and reshaped again: in between they are the same elements under fewer axes, and the extents that
// the file gives them.

#include "libmge/model/import/onnx/handles.h"
#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

struct ManyAxes {
    Tensor elements;  // in order, under any axes
    IntList extents;  // one may be -1: it differs between runs
};

using TensorsOfManyAxes = Handles<ManyAxes>;

// x of a reshape with the extents of its target; null: those are few enough.
Tensor with_many_axes(const Site& site, bool allows_zero);
// The same of a transposition.
Tensor transposed_axes(const Site& site, const ManyAxes& x, const IntList& pattern);
// x with axes of one element at these places.
Tensor with_more_axes(const Site& site, const IntList& axes);
// What a function of two operands that repeat along each other makes of some of many axes; null: they have
// few enough.
Tensor combined_axes(const Site& site, ImportFunction combine);

}  // namespace mge::onnx
