// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Sets element i * step for i below count; `element` as in fill_elements.
void fill_diagonal(Stream stream, void* target, int64_t count, int64_t step, int size, uint64_t element);

}  // namespace mge::cuda
