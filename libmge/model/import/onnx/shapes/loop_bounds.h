// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of programs that count: `while i < n` with a counter of their own, as TensorFlow writes them. What
// their bodies compute as the condition tells the number of steps before the first.

#include "libmge/graph/graph.h"
#include "libmge/model/import/onnx/operators.h"

namespace mge::onnx {

// The body of a loop: its inputs are the count, what is carried and what it sees of the graphs around it; its
// outputs a condition, what is carried, and slices.
struct CountingBody {
    const Graph& graph;
    std::span<const Tensor> start, captured;
};

// As many steps as there are until the condition fails (i64, rank 0), the first counted; null: each step has
// to find out.
Tensor find_steps(const Site& site, const CountingBody& body);

}  // namespace mge::onnx
