// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes and small values of a graph that are the same in every run. They are found by inferring the graph's
// shapes for other sizes of open dimensions, and for several sizes of the dimensions known only at run time:
// the number of elements that pass a mask, or of boxes that are kept.

#include <optional>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/graph/infer.h"

namespace mge::to_onnx {

// Sizes of open dimensions and the graph's inputs for them; the first run is the current one.
struct Run {
    int64_t batch;
    TensorSpecs inputs;
    ExtentValues sizes{};  // by name
};
using Runs = std::vector<Run>;
// Which axes of the inputs change between runs: named dimensions, and first axes that are open without a
// name; all first axes of the current batch size; none.
enum class OpenAxes { named, batch, none };
// The current run, and others if the graph supports them.
Runs runs_of(const Graph& graph, OpenAxes open);

// Specs that hold in all runs: sizes that differ are -1, shapes of different ranks unknown.
TensorSpecs common_specs(const Runs& runs);

class Shapes {
public:
    // Shapes known only at run time are filled into the graph with some size: their ranks are known then.
    Shapes(Graph& graph, const Runs& runs);
    // The specs of these values in each of the runs.
    Runs runs_of(const Graph& graph, const std::vector<ValueId>& ids) const;

    // The graph works for other batches.
    bool has_batch() const { return has_batch_; }
    // The current batch size; 0: there is none.
    int64_t batch() const { return has_batch_ ? trials_[0].batch : 0; }
    // Returns the name of the dimension that the axis is in every run; empty if there is none.
    std::string dimension_name(ValueId id, int axis) const;
    // Nullopt where it depends on the run.
    std::optional<int64_t> extent(ValueId id, int axis) const;
    std::optional<Shape> fixed(ValueId id) const;
    // In every run the shapes, or the sizes of these axes, are equal.
    bool is_same(ValueId a, ValueId b) const;
    bool is_same_extent(ValueId a, int axis_a, ValueId b, int axis_b) const;
    // The value if it is known before a run and the same in every run; otherwise null.
    Tensor value(const Graph& graph, ValueId id) const;

private:
    // One set of sizes: those of open dimensions, and the sizes known only at run time.
    struct Trial {
        int64_t batch;
        ExtentValues sizes;
        std::vector<Shape> shapes;
        Tensors computed;
    };
    std::vector<Trial> trials_;
    bool has_batch_ = false;
};

}  // namespace mge::to_onnx
