// SPDX-License-Identifier: Apache-2.0
#pragma once
// How kernels compute the offsets of elements from their number: a few axes, with strides for each operand.

#include "libmge/kernel/cuda/divisor.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Numbers and offsets up to this fit into 31 bits.
inline constexpr int64_t most_small = (int64_t(1) << 31) - 1;

// The distance of the farthest element from the first.
inline int64_t reach_of(const int64_t* extent, const int64_t* stride, int axes) {
    int64_t reach = 0;
    for (int axis = 0; axis < axes; ++axis)
        reach += (extent[axis] - 1) * (stride[axis] < 0 ? -stride[axis] : stride[axis]);
    return reach;
}

// Elements are numbered row by row: axis 0 is the innermost.
template <int operands>
struct IndexSpace {
    int64_t numel = 1;
    int axes = 0;
    bool is_small = true;  // numbers and places fit into 31 bits
    int64_t extent[max_axes] = {};
    Divisor divisor[max_axes];  // by the sizes, if small
    int64_t stride[operands][max_axes] = {};

    // The next one outwards.
    void add(int64_t length, const int64_t (&strides)[operands]) {
        extent[axes] = length;
        for (int i = 0; i < operands; ++i) stride[i][axes] = strides[i];
        ++axes;
        numel *= length;
    }
    // Called after the last axis. Kernels do not support an empty space.
    void close() {
        is_small = numel <= most_small;
        for (int i = 0; i < operands; ++i)
            is_small = is_small && reach_of(extent, stride[i], axes) <= most_small;
        for (int axis = 0; is_small && numel && axis < axes; ++axis) divisor[axis] = divisor_of(extent[axis]);
    }
};

}  // namespace mge::cuda
