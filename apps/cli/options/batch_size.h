// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/graph/graph.h"

namespace mge::cli {

// The spec of an input with another first extent. UserError of `option`, the flag that asks for it, when it
// has none: a scalar, or a shape that only a run can tell.
TensorSpec with_batch(TensorSpec spec, int64_t batch, const std::string& name, const char* option);
// Those of all inputs of a graph, in its order.
TensorSpecs with_batch(const Graph& graph, int64_t batch, const char* option);

}  // namespace mge::cli
