// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counting loops: `while i < n` with an explicit counter, as TensorFlow writes them. The condition computed
// by their bodies gives the number of steps before the first.

#include "libmge/graph/graph.h"
#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// The body of a loop: its inputs are the count, the carried values and values of outer graphs; its outputs a
// condition, the carried values, and slices.
struct CountingBody {
    const Graph& graph;
    std::span<const Tensor> start, captured;
};

// The number of steps until the condition fails (i64, rank 0), including the first; null: each step has to
// compute it.
Tensor find_steps(const Site& site, const CountingBody& body);

}  // namespace mge::onnx
