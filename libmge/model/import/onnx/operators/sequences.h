// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sequences and optionals are known while reading: lists of values of the graph.

#include "libmge/model/import/onnx/handles.h"

namespace mge::onnx {

struct Sequence {
    Tensors items;  // items of an optional: none or one, which may be a sequence
    bool is_optional = false;
    // Instead of items: the elements of an axis whose size is known only at run time. Each keeps the axis, or
    // has none.
    Tensor elements{};
    int axis = 0;
    bool keeps_axis = false;
};

using Sequences = Handles<Sequence>;

}  // namespace mge::onnx
