// SPDX-License-Identifier: Apache-2.0
#pragma once
// Extents of inputs that a file leaves open.

#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

inline bool is_open(const file::TensorShapeProto::Dimension& dim) {
    return !dim.has_dim_value() || dim.dim_value() < 0;
}

// Without a name, and where states of layers have the batch: not on a last axis, unless that is the first.
inline bool is_nameless(const file::TensorShapeProto& shape, int axis) {
    auto& dim = shape.dim(axis);
    return is_open(dim) && dim.dim_param().empty() && (!axis || axis + 1 < shape.dim_size());
}

}  // namespace mge::onnx
