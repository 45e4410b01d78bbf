// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/index/gather.cuda.h"

namespace mge::ops {

// For operators with x, an index per element and perhaps a source. The index is seen as `index`, a shape of
// the rank of x.
cuda::IndexedElements make_indexed_elements(const Problem& problem, int axis, const Shape& index,
                                            int64_t lowest);
cuda::IndexedElements launched(const cuda::IndexedElements& elements, const Launch& launch);

}  // namespace mge::ops
