// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/op.h"

namespace mge::ops {

// UserError of `who` where an input that is there has another shape.
inline void check_shape(std::string_view who, std::string_view input, const TensorSpec& spec,
                        const Shape& shape) {
    if (!spec.is_absent() && !can_be_same(who, spec.shape, shape))
        throw_value_error(who, input, " must have shape ", shape, ", got ", spec.shape);
}

}  // namespace mge::ops
