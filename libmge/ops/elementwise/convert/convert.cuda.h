// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Types are numbers among AllTypes.
void convert(Stream stream, int from, int to, const void* x, void* y, int64_t n);

}  // namespace mge::cuda
