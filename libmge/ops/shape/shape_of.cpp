// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/shape_of.h"

#include <cstdint>

namespace mge::ops {

TensorSpecs ShapeOf::infer(const Params& p, Specs in) {
    int rank = in[0].shape.rank();
    if (p.axis < -1 || p.axis >= rank)
        throw_value_error(name, "axis ", p.axis, " is out of range for rank ", rank, "; -1 means all");
    for (int i = 0; i < rank; ++i)
        if (in[0].shape.extent(i).lower() > INT32_MAX)
            throw_value_error(name, "extent ", in[0].shape.extent(i), " of axis ", i, " is above ",
                              INT32_MAX);
    return {{DType::i32, {p.axis == -1 ? rank : 1}, {}}};
}

}  // namespace mge::ops
