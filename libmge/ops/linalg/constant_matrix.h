// SPDX-License-Identifier: Apache-2.0
#pragma once
// For our own products of f32: with a constant matrix that is packed ahead, and others.

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/linalg/matmul_geometry.h"

namespace mge::ops {

inline Support is_plain_f32(const Problem& p) {
    if (Support plain = plain_layouts(p); !plain) return plain;
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs)
            if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
    return supported;
}

inline Support has_constant_matrix_of_f32(const Problem& p) {
    if (Support plain = is_plain_f32(p); !plain) return plain;
    return p.is_constant(1) ? supported : Support{"constant matrices only"};
}

inline MatmulGeometry geometry_of(const Problem& p) {
    return matmul_geometry(p.as<Matmul::Params>(), p.inputs[0].shape, p.inputs[1].shape);
}

}  // namespace mge::ops
