// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/shapes.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/graph/copy_node.h"
#include "libmge/passes/rewrite.h"

namespace mge::to_onnx {
namespace {

// Unlike each other and most extents.
constexpr int64_t other_batch_sizes[] = {5, 11};
constexpr int64_t run_extents[] = {13, 17, 19, 23};

// Of the first input that has one; 0: none has.
int64_t present_batch(const Graph& graph) {
    for (ValueId id : graph.inputs())
        if (auto& shape = graph.value(id).spec.shape; shape.rank() > 0) return shape[0];
    return 0;
}

bool same_value(const Tensor& a, const Tensor& b) {
    return a && b && a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

// The graph with the results of operators whose shapes only a run can tell as further inputs: vectors, as all
// of them are.
struct OpenGraph {
    Graph graph;
    std::vector<ValueId> where;  // by value of the original
    size_t own_inputs = 0;

    explicit OpenGraph(const Graph& source) : where(source.values().size(), no_value) {
        Rewrite rewrite(source);
        own_inputs = source.inputs().size();
        for (size_t i = 0; i < source.nodes().size(); ++i) {
            auto& node = source.node(NodeId(i));
            if (!node.op->traits.runtime_shape) {
                rewrite.copy(NodeId(i));
                continue;
            }
            for (ValueId id : node.outputs) {
                TensorSpec spec{source.value(id).spec.dtype, {run_extents[0]}, {}};
                rewrite.replace(id, rewrite.target().add_input(spec, {}));
            }
        }
        for (size_t i = 0; i < where.size(); ++i) {
            auto& value = source.value(ValueId(i));
            if (value.producer >= 0 || value.is_input || value.is_constant()) where[i] = rewrite(ValueId(i));
        }
        graph = rewrite.finish();
    }

    bool has_run_extents() const { return graph.inputs().size() > own_inputs; }
    Graph inferred(int64_t batch_now, int64_t batch, int64_t run_extent) const {
        TensorSpecs specs = specs_of(graph, graph.inputs());
        for (size_t i = 0; i < specs.size(); ++i) {
            auto& shape = specs[i].shape;
            if (i >= own_inputs)
                shape = {run_extent};
            else if (shape.rank() > 0 && shape[0] == batch_now)
                shape[0] = batch;
        }
        return infer_shapes(graph, specs);
    }
};

}  // namespace

Shapes::Shapes(Graph& graph, bool other_batches) {
    OpenGraph open(graph);
    int64_t present = present_batch(graph);
    auto observe = [&](int64_t batch, int64_t run_extent) {
        Graph inferred = open.inferred(present, batch, run_extent);
        KnownValues known;
        for (size_t i = 0; i < inferred.nodes().size(); ++i) known.add(inferred, NodeId(i));
        Trial trial{batch, {}, {}};
        for (ValueId id : open.where) {
            trial.shapes.push_back(id == no_value ? Shape::unknown() : inferred.value(id).spec.shape);
            bool is_computed = id != no_value && size_t(id) < known.computed().size();
            trial.computed.push_back(is_computed ? known.computed()[size_t(id)] : Tensor());
        }
        trials_.push_back(std::move(trial));
    };
    observe(present, run_extents[0]);
    if (open.has_run_extents()) observe(present, run_extents[1]);
    for (size_t i = 0; i < trials_[0].shapes.size(); ++i)
        graph.value(ValueId(i)).spec.shape = trials_[0].shapes[i];
    if (!other_batches || present == 0) return;
    size_t without_batch = trials_.size();
    try {
        for (size_t i = 0; i < std::size(other_batch_sizes); ++i)
            observe(other_batch_sizes[i], run_extents[2 + i]);
        has_batch_ = true;
    } catch (const UserError&) {
        trials_.resize(without_batch);  // it is for this batch only
    }
}

bool Shapes::is_batch(ValueId id, int axis) const {
    return has_batch() && std::ranges::all_of(trials_, [&](auto& trial) {
               auto& shape = trial.shapes[size_t(id)];
               return axis < shape.rank() && shape[axis] == trial.batch;
           });
}

std::optional<int64_t> Shapes::extent(ValueId id, int axis) const {
    auto& now = trials_[0].shapes[size_t(id)];
    if (axis >= now.rank()) return std::nullopt;
    bool stays = std::ranges::all_of(trials_, [&](auto& trial) {
        auto& shape = trial.shapes[size_t(id)];
        return axis < shape.rank() && shape[axis] == now[axis];
    });
    return stays ? std::optional(now[axis]) : std::nullopt;
}

std::optional<Shape> Shapes::fixed(ValueId id) const {
    auto& now = trials_[0].shapes[size_t(id)];
    bool stays = now.is_known() &&
                 std::ranges::all_of(trials_, [&](auto& trial) { return trial.shapes[size_t(id)] == now; });
    return stays ? std::optional(now) : std::nullopt;
}

bool Shapes::is_same(ValueId a, ValueId b) const {
    return std::ranges::all_of(trials_, [&](auto& trial) {
        auto &x = trial.shapes[size_t(a)], &y = trial.shapes[size_t(b)];
        return x.is_known() && x == y;
    });
}

bool Shapes::is_same_extent(ValueId a, int axis_a, ValueId b, int axis_b) const {
    return std::ranges::all_of(trials_, [&](auto& trial) {
        auto &x = trial.shapes[size_t(a)], &y = trial.shapes[size_t(b)];
        return axis_a < x.rank() && axis_b < y.rank() && x[axis_a] == y[axis_b];
    });
}

Tensor Shapes::value(const Graph& graph, ValueId id) const {
    if (graph.value(id).is_constant()) return graph.value(id).constant;
    const Tensor& now = trials_[0].computed[size_t(id)];
    bool stays = std::ranges::all_of(
        trials_, [&](auto& trial) { return same_value(trial.computed[size_t(id)], now); });
    return stays ? now : Tensor();
}

}  // namespace mge::to_onnx
