// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/shapes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/index/order/unique.h"
#include "libmge/ops/vision/class_nms.h"

namespace mge::to_onnx {
namespace {

// Names get sizes unlike each other and most sizes: the first, the first plus step, and so on.
struct OtherSizes {
    int64_t first, step;
};
constexpr OtherSizes other_sizes[] = {{5, 4}, {11, 6}};
// Graphs of images may work for multiples only.
constexpr int64_t scales_of_names[] = {1, 32};
constexpr auto batch_name = "batch";
constexpr int64_t run_extents[] = {13, 17, 19, 23, 29};

// The batch size of the first input that has one; 0 without one.
int64_t present_batch(const Graph& graph) {
    for (ValueId id : graph.inputs())
        if (auto& shape = graph.value(id).spec.shape; shape.rank() > 0) return shape[0];
    return 0;
}

// Calls `visit(input position, axis, name)` for the axes that change between runs.
template <class Visit>
void each_open_axis(const Graph& graph, OpenAxes open, Visit visit) {
    int64_t present = present_batch(graph);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
        auto& input = graph.value(graph.inputs()[i]);
        auto& shape = input.spec.shape;
        auto name_at = [&](int axis) {
            auto* own = find_dimension(input.dimensions, axis);
            return own && !own->name.empty() ? own->name : std::string(batch_name);
        };
        if (open == OpenAxes::batch && shape.rank() > 0 && shape[0] == present && present)
            visit(i, 0, name_at(0));
        if (open != OpenAxes::named) continue;
        for (auto& d : input.dimensions)
            if (d.axis < shape.rank() && (!d.axis || !d.name.empty())) visit(i, d.axis, name_at(d.axis));
    }
}

ExtentValues sizes_for(const Graph& graph, const OtherSizes& other, int64_t scale) {
    ExtentValues sizes{{batch_name, scale * other.first}};
    for (auto& name : dimension_names(graph))
        sizes.try_emplace(name, scale * (other.first + other.step * int64_t(sizes.size())));
    sizes.merge(sizes_of_names(graph, sizes));
    return sizes;
}

bool same_value(const Tensor& a, const Tensor& b) {
    return a && b && a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

// The first axis of a result whose size is known only at run time. Most are vectors.
Shape run_shape(const Graph& graph, const Node& node, size_t output) {
    if (node.op == &ops::ClassNms::info) return {run_extents[0], 3};
    Shape shape{run_extents[0]};
    if (node.op != &ops::Unique::info || output != 0) return shape;
    auto& x = graph.value(node.inputs[0]).spec.shape;
    for (int axis = 1; axis < x.rank(); ++axis) shape.push_back(x[axis]);
    return shape;
}

// The graph, where results with shapes known only at run time are further inputs.
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
            for (size_t k = 0; k < node.outputs.size(); ++k) {
                ValueId id = node.outputs[k];
                TensorSpec spec{source.value(id).spec.dtype, run_shape(source, node, k), {}};
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
    Graph inferred(const TensorSpecs& own, int64_t run_extent) const {
        TensorSpecs specs = specs_of(graph, graph.inputs());
        std::ranges::copy(own, specs.begin());
        for (size_t i = own_inputs; i < specs.size(); ++i) specs[i].shape[0] = run_extent;
        return infer_shapes(graph, specs);
    }
};

}  // namespace

namespace {

// Only the present run if the graph does not work for others.
Runs runs_of(const Graph& graph, OpenAxes open, int64_t scale) {
    Run present{present_batch(graph), specs_of(graph, graph.inputs())};
    Runs runs{present};
    each_open_axis(graph, open, [&](size_t i, int axis, const std::string& name) {
        runs[0].sizes.try_emplace(name, present.inputs[i].shape[axis]);
    });
    if (runs[0].sizes.empty()) return runs;
    OpenGraph open_graph(graph);
    for (auto& other : other_sizes) {
        Run run{present.batch, present.inputs, sizes_for(graph, other, scale)};
        bool is_first = true;
        each_open_axis(graph, open, [&](size_t i, int axis, const std::string& name) {
            run.inputs[i].shape[axis] = run.sizes.at(name);
            if (!axis && std::exchange(is_first, false)) run.batch = run.sizes.at(name);
        });
        try {
            open_graph.inferred(run.inputs, run_extents[0]);
        } catch (const UserError&) {
            return {present};
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

}  // namespace

Runs runs_of(const Graph& graph, OpenAxes open) {
    for (int64_t scale : scales_of_names)
        if (auto runs = runs_of(graph, open, scale); runs.size() > 1 || open != OpenAxes::named) return runs;
    return runs_of(graph, OpenAxes::none, 1);
}

TensorSpecs common_specs(const Runs& runs) {
    TensorSpecs common = runs[0].inputs;
    for (auto& run : runs)
        for (size_t i = 0; i < common.size(); ++i) {
            Shape &shape = common[i].shape, other = run.inputs[i].shape;
            if (shape.is_known() && (!other.is_known() || other.rank() != shape.rank()))
                shape = Shape::unknown();
            for (int axis = 0; axis < shape.rank(); ++axis)
                if (shape[axis] != other[axis]) shape[axis] = -1;
        }
    return common;
}

Shapes::Shapes(Graph& graph, const Runs& runs) {
    OpenGraph open(graph);
    auto observe = [&](const Run& run) {
        int64_t run_extent = run_extents[trials_.size() % std::size(run_extents)];
        Graph inferred = open.inferred(run.inputs, run_extent);
        KnownValues known;
        for (size_t i = 0; i < inferred.nodes().size(); ++i) known.add(inferred, NodeId(i));
        Trial trial{run.batch, run.sizes, {}, {}};
        for (ValueId id : open.where) {
            trial.shapes.push_back(id == no_value ? Shape::unknown() : inferred.value(id).spec.shape);
            bool is_computed = id != no_value && size_t(id) < known.computed().size();
            trial.computed.push_back(is_computed ? known.computed()[size_t(id)] : Tensor());
        }
        trials_.push_back(std::move(trial));
    };
    for (auto& run : runs) observe(run);
    if (open.has_run_extents() && runs.size() == 1) observe(runs[0]);
    for (size_t i = 0; i < trials_[0].shapes.size(); ++i)
        graph.value(ValueId(i)).spec.shape = trials_[0].shapes[i];
    has_batch_ = std::ranges::any_of(runs, [&](auto& run) { return run.batch != runs[0].batch; });
}

Runs Shapes::runs_of(const Graph& graph, const std::vector<ValueId>& ids) const {
    Runs runs;
    for (auto& trial : trials_) {
        Run run{trial.batch, {}, trial.sizes};
        for (ValueId id : ids)
            run.inputs.push_back({graph.value(id).spec.dtype, trial.shapes[size_t(id)], {}});
        runs.push_back(std::move(run));
    }
    return runs;
}

std::string Shapes::dimension_name(ValueId id, int axis) const {
    if (extent(id, axis)) return {};
    for (auto& [name, present] : trials_[0].sizes)
        if (std::ranges::all_of(trials_, [&](auto& trial) {
                auto& shape = trial.shapes[size_t(id)];
                return axis < shape.rank() && shape[axis] == trial.sizes.at(name);
            }))
            return name;
    return {};
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
