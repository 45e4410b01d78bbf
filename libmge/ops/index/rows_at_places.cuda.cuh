// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/copy/nest.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/ops/index/rows_at_places.cuda.h"

namespace mge::cuda {

// The offset of element j of the row (outer, place).
MGE_DEVICE int64_t at_place(const Rows& rows, int64_t outer, int64_t place, int64_t j) {
    int64_t at = rows.inner_nest.is_dense ? j : place_in(rows.inner_nest, j);
    return outer * rows.outer_stride + place * rows.place_stride + at;
}

// Calls fn(static_cast<Unit*>(nullptr)) with a type of so many bytes.
template <class Fn>
void dispatch_unit(int bytes, Fn&& fn) {
    switch (bytes) {
        case 1:
            return fn(static_cast<uint8_t*>(nullptr));
        case 2:
            return fn(static_cast<uint16_t*>(nullptr));
        case 4:
            return fn(static_cast<uint32_t*>(nullptr));
        case 8:
            return fn(static_cast<uint64_t*>(nullptr));
        default:
            return fn(static_cast<uint4*>(nullptr));
    }
}

}  // namespace mge::cuda
