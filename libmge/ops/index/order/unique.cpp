// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/unique.h"

namespace mge::ops {

TensorSpecs Unique::infer(const Params&, Specs in) {
    if (in[0].shape.rank() < 1) throw_value_error(name, "x needs a first axis");
    TensorSpec place{DType::i64, Shape::unknown(), {}};
    return {{in[0].dtype, Shape::unknown(), {}}, place, place, place};
}

std::vector<Shape> Unique::shapes_of_items(const Shape& x, const Extent& count) {
    if (x.rank() < 1) return {};
    Shape slices = x, items{count.raw()}, inverse{x.extent(0).raw()};
    slices.set(0, count);
    return {slices, items, inverse, items};
}

}  // namespace mge::ops
