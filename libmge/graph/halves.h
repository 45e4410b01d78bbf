// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// By value: true if its dtype, or one on the way to it, has 16 bits or fewer. An f32 behind a half has the
// rounding of the half.
MGE_API std::vector<bool> behind_halves(const Graph& graph);

}  // namespace mge
