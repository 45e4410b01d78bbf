// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/graph/graph.h"

namespace mge::to_onnx {

// The graph with the steps of fused operators as operators of their own.
Graph unfused(Graph graph);

}  // namespace mge::to_onnx
