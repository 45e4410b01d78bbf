// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/divisor.cuh"
#include "libmge/kernel/cuda/grid.cuh"
#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

// The index along an axis; `number` becomes the quotient for the outer axes.
template <int operands>
__device__ inline int32_t split_number(int32_t& number, const IndexSpace<operands>& space, int axis) {
    return split_index(number, space.divisor[axis]);
}
template <int operands>
__device__ inline int64_t split_number(int64_t& number, const IndexSpace<operands>& space, int axis) {
    return split_index(number, space.extent[axis]);
}

// The offset of element `number` for each operand. Index is int32_t for small spaces, int64_t for all.
template <class Index, int operands>
__device__ inline void find_places(const IndexSpace<operands>& space, Index number,
                                   Index (&places)[operands]) {
    for (Index& place : places) place = 0;
#pragma unroll
    for (int axis = 0; axis < max_axes; ++axis) {
        if (axis >= space.axes) break;
        Index at = number;
        if (axis + 1 < space.axes) at = split_number(number, space, axis);
#pragma unroll
        for (int i = 0; i < operands; ++i) places[i] += at * Index(space.stride[i][axis]);
    }
}

}  // namespace mge::cuda
