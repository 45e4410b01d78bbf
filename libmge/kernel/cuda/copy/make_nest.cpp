// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/copy/make_nest.h"

#include "libmge/base/error.h"

namespace mge::cuda {

static_assert(max_rank <= max_axes);

Nest make_nest(const Shape& shape, const Strides& strides) {
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
    MGE_CHECK(to.rank() >= from.rank(), from, " as ", to);
    return make_nest(to, broadcast_strides(from, to));
}

}  // namespace mge::cuda
