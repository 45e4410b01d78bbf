// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/indexed_elements.cuda.h"

#include <utility>

#include "libmge/kernel/cuda/copy/make_nest.h"
#include "libmge/kernel/cuda/launch.h"

namespace mge::ops {

cuda::IndexedElements make_indexed_elements(const Problem& problem, int axis, const Shape& index,
                                            int64_t lowest) {
    auto& x = problem.inputs[0].shape;
    cuda::IndexedElements e{};
    // An operator's name ends with 0.
    e.check = {nullptr, problem.op.data(), axis, lowest, x[axis]};
    auto in_x = dense_strides(x), in_index = dense_strides(index);
    e.axis_stride = std::exchange(in_x[size_t(axis)], 0);
    e.at = cuda::make_nest(index, in_x);
    e.length = index[axis];
    e.step = in_index[size_t(axis)];
    Shape lines = index;
    lines[axis] = 1;
    e.lines = lines.numel();
    e.line_in_index = cuda::make_nest(lines, in_index);
    e.line_in_x = cuda::make_nest(lines, in_x);
    return e;
}

cuda::IndexedElements launched(const cuda::IndexedElements& elements, const Launch& launch) {
    auto e = elements;
    e.index = launch.in<int32_t>(1);
    e.check.fault = cuda::index_fault_of(launch);
    return e;
}

}  // namespace mge::ops
