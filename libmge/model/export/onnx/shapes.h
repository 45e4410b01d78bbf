// SPDX-License-Identifier: Apache-2.0
#pragma once
// What of a graph's shapes and small values is so in every run, and what only now. Found out by inferring the
// graph's shapes for other batches, and for several extents of what only a run can tell: how many elements
// pass a mask, or boxes stay.

#include <optional>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/graph/infer.h"

namespace mge::to_onnx {

// A batch and what the graph's inputs are for it; the first is the present one.
struct Run {
    int64_t batch;
    TensorSpecs inputs;
};
using Runs = std::vector<Run>;
// The present batch, and with `other_batches` others, where the graph works for them.
Runs runs_of(const Graph& graph, bool other_batches);

// What is so in all runs: extents that differ are -1, shapes of different ranks unknown.
TensorSpecs common_specs(const Runs& runs);

class Shapes {
public:
    // Shapes that only a run can tell are filled into the graph with some extent: their ranks are known then.
    Shapes(Graph& graph, const Runs& runs);
    // What these values are in each of the runs.
    Runs runs_of(const Graph& graph, const std::vector<ValueId>& ids) const;

    // The graph works for other batches.
    bool has_batch() const { return has_batch_; }
    // What it is now; 0: there is none.
    int64_t batch() const { return has_batch_ ? trials_[0].batch : 0; }
    bool is_batch(ValueId id, int axis) const;
    // Nullopt where it depends on the run.
    std::optional<int64_t> extent(ValueId id, int axis) const;
    std::optional<Shape> fixed(ValueId id) const;
    // In every run the shapes are equal, or the extents of these axes.
    bool is_same(ValueId a, ValueId b) const;
    bool is_same_extent(ValueId a, int axis_a, ValueId b, int axis_b) const;
    // What is known of it ahead of a run; null: nothing, or not the same in every run.
    Tensor value(const Graph& graph, ValueId id) const;

private:
    // One set of extents: that of the batch, and of what only a run can tell.
    struct Trial {
        int64_t batch;
        std::vector<Shape> shapes;
        Tensors computed;
    };
    std::vector<Trial> trials_;
    bool has_batch_ = false;
};

}  // namespace mge::to_onnx
