// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/index_space.h"

namespace mge::cuda {

// Adds the value to places of y; `places` are those of value and y. Types are numbers among AllTypes.
void add_to_places(Stream stream, int type, const void* value, void* y, const IndexSpace<2>& places);

}  // namespace mge::cuda
