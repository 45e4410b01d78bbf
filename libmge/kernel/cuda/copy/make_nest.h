// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/copy/nest.h"
#include "libmge/kernel/strided_copy.h"

namespace mge::cuda {

// Loops over the elements of a shape in a tensor with these strides; contiguous axes are merged.
Nest make_nest(const Shape& shape, const Strides& strides);
Nest dense_nest(int64_t elements);
// The same for a dense tensor of shape `from` that is seen as the shape `to`.
Nest broadcast_nest(const Shape& from, const Shape& to);

}  // namespace mge::cuda
