// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/make_nest.h"

#include "libmge/base/error.h"

namespace mge::cuda {

static_assert(max_rank <= max_axes);

AxisStrides row_major_strides(const Shape& shape) {
    AxisStrides strides{};
    int64_t step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; step *= shape[axis--]) strides[size_t(axis)] = step;
    return strides;
}

Nest make_nest(const Shape& shape, const AxisStrides& strides) {
    Nest nest{};
    for (int axis = 0; axis < shape.rank(); ++axis) {
        int64_t extent = shape[axis], stride = strides[size_t(axis)];
        if (extent == 1) continue;
        int last = nest.loops - 1;
        if (last >= 0 && nest.stride[last] == stride * extent) {
            nest.extent[last] *= extent;
            nest.stride[last] = stride;
            continue;
        }
        nest.extent[nest.loops] = extent;
        nest.stride[nest.loops++] = stride;
    }
    nest.is_dense = nest.loops == 1 && nest.stride[0] == 1;
    return nest;
}

Nest dense_nest(int64_t elements) { return {1, true, {elements}, {1}}; }

Nest broadcast_nest(const Shape& from, const Shape& to) {
    AxisStrides own = row_major_strides(from), strides{};
    int shift = to.rank() - from.rank();
    MGE_CHECK(shift >= 0, from, " as ", to);
    for (int axis = 0; axis < from.rank(); ++axis)
        if (from[axis] != 1) strides[size_t(axis + shift)] = own[size_t(axis)];
    return make_nest(to, strides);
}

}  // namespace mge::cuda
