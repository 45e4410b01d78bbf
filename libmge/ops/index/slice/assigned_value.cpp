// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/assigned_value.h"

#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

Shape check_value_shape(std::string_view who, const Shape& value, const Shape& places) {
    Shape shape = value;
    while (shape.rank() > places.rank() && can_be_equal(who, shape.extent(0), 1)) shape.erase(0);
    if (!can_be_repeated(who, shape, places))
        throw_value_error(who, "value of shape ", value, " does not broadcast to the indexed shape ", places);
    return shape;
}

Tensor sum_to_value(const Tensor& read, const Tensor& value) {
    IntList surplus;
    for (int axis = 0; axis < value.shape().rank() - read.shape().rank(); ++axis) surplus.push_back(axis);
    return reduce_to_shape(surplus.empty() ? read : add_axis(read, {.axes = surplus}), value);
}

}  // namespace mge::ops
