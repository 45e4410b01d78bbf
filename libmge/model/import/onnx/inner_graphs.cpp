// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/inner_graphs.h"

#include <algorithm>

#include "libmge/graph/inner_graph.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge::onnx {
namespace {

TensorSpec slice_of(const TensorSpec& spec) {
    if (!spec.shape.is_known()) return spec;
    if (!spec.shape.rank()) invalid("a scalar has no slices");
    return {spec.dtype, Shape(spec.shape.dims().subspan(1)), {}};
}

class FollowInner {
public:
    FollowInner(const Site& site, std::span<const Tensor> inputs, std::span<const OtherSpecs> others)
        : extents_(site.extents) {
        extents_.enter(dynamic_cast<GraphBuilder&>(current_interpreter()), inputs, others);
    }
    ~FollowInner() { extents_.leave(); }
    FollowInner(const FollowInner&) = delete;

private:
    OtherExtents& extents_;
};

OtherShapes shapes_of(const OtherSpecs& specs) {
    OtherShapes shapes;
    for (size_t run = 0; run < other_runs; ++run) shapes[run] = specs[run].shape;
    return shapes;
}

}  // namespace

void Arguments::add(const TensorSpec& spec, const OtherSpecs& other) {
    specs.push_back(spec);
    others.push_back(other);
}

void Arguments::add_like(const Site& site, const Tensor& t) { add(t.spec(), site.extents.specs_of(t)); }

void Arguments::add_slice(const Site& site, const Tensor& t) {
    OtherSpecs other = site.extents.specs_of(t);
    for (auto& spec : other) spec = slice_of(spec);
    add(slice_of(t.spec()), other);
}

void Arguments::add_scalar(DType dtype) {
    OtherSpecs other;
    other.fill({dtype, Shape{}, {}});
    add({dtype, Shape{}, {}}, other);
}

InnerResults record_inner(const Site& site, const Arguments& arguments, Tensors& captured,
                          const std::function<Tensors(std::span<const Tensor>)>& function) {
    InnerResults recorded;
    recorded.graph = capture_subgraph(arguments.specs, captured, [&](std::span<const Tensor> inputs) {
        FollowInner followed(site, inputs, arguments.others);
        Tensors results = function(inputs);
        for (auto& result : results) {
            if (!result) unsupported("an inner graph with nodes that have no counterpart");
            site.importer.require_tensor(result, "that an inner graph makes");
            if (site.importer.texts().has(result)) unsupported("texts that an inner graph makes");
            result = ops::copy(result);
            recorded.specs.push_back(result.spec());
            recorded.others.push_back(site.extents.specs_of(result));
        }
        return results;
    });
    return recorded;
}

// In the second run each length is a different number, even if it is the same length.
bool are_alike(const OtherSpecs& a, const OtherSpecs& b) {
    return a[0] == b[0] && std::ranges::equal(std::span(a).subspan(2), std::span(b).subspan(2));
}

SubgraphRef with_inputs(const SubgraphRef& graph, std::span<const Tensor> all) {
    if (graph->input_count() == all.size()) return graph;
    Graph longer = graph_of(graph);
    for (size_t i = longer.inputs().size(); i < all.size(); ++i)
        longer.add_input(all[i].spec(), text("in_", i));
    return make_subgraph(std::move(longer));
}

void assume_either(const Site& site, const Tensor& result, const OtherSpecs& a, const OtherSpecs& b) {
    auto shapes = shapes_of(a), others = shapes_of(b);
    for (size_t run = 0; run < other_runs; ++run) {
        if (!shapes[run].is_known() || !others[run].is_known()) return;
        if (shapes[run].rank() != others[run].rank()) {
            // It has different ranks in different runs, but a value computed from it may have a single rank.
            if (run == 1 || run == 2) shapes[run] = others[run];
            continue;
        }
        for (int axis = 0; axis < shapes[run].rank(); ++axis)
            if (shapes[run][axis] != others[run][axis]) shapes[run][axis] = assumed_lengths[run];
    }
    site.extents.assume(result, shapes);
}

void assume_like(const Site& site, const Tensor& result, const Tensor& like, const IntList& axes) {
    auto shapes = shapes_of(site.extents.specs_of(like));
    for (size_t run = 0; run < other_runs; ++run) {
        if (!shapes[run].is_known()) return;
        for (int64_t axis : axes) shapes[run][int(axis)] = assumed_lengths[run];
    }
    site.extents.assume(result, shapes);
}

void assume_stacked(const Site& site, const Tensor& result, const OtherSpecs& slices) {
    auto shapes = shapes_of(slices);
    for (size_t run = 0; run < other_runs; ++run) {
        if (!shapes[run].is_known() && may_be_unknown(run)) continue;
        if (!shapes[run].is_known()) return;
        Shape stacked{assumed_lengths[run]};
        for (int64_t extent : shapes[run]) stacked.push_back(extent);
        shapes[run] = stacked;
    }
    site.extents.assume(result, shapes);
}

}  // namespace mge::onnx
