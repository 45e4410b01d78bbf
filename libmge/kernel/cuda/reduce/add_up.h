// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// Makes of counts how many there are before each, and in the place behind the last one how many in all.
void add_up(Stream stream, int64_t n, int64_t* counts);

}  // namespace mge::cuda
