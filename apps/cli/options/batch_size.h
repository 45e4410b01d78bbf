// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/graph/graph.h"

namespace mge::cli {

// Returns the spec of an input with another batch size. Throws UserError in the name of `option` if the input
// is a scalar or its shape is known only at run time.
TensorSpec with_batch(TensorSpec spec, int64_t batch, const std::string& name, const char* option);
// Returns these specs of all inputs of a graph with another batch size.
TensorSpecs with_batch(const Graph& graph, TensorSpecs inputs, int64_t batch, const char* option);

}  // namespace mge::cli
