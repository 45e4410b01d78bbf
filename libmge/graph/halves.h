// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Returns, by value, whether its dtype or that of a value it depends on has 16 bits or fewer. An f32 value
// computed from a half has the rounding error of the half.
MGE_API std::vector<bool> behind_halves(const Graph& graph);

}  // namespace mge
