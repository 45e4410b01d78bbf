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

// Infers the graph that is being recorded. Its guards hold only in runs that need it.
class InnerInference {
public:
    InnerInference(const Site& site, const std::vector<Shape>& arguments)
        : importer_(site.importer),
          builder_(dynamic_cast<GraphBuilder&>(current_interpreter())),
          inference_(builder_.graph(), importer_.symbolic_options(
                                           [this, &arguments](ValueId id) { return input(arguments, id); })) {
        builder_.set_symbolic(&inference_);
    }
    ~InnerInference() {
        builder_.set_symbolic(nullptr);
        importer_.note_inner(inference_);
    }
    InnerInference(const InnerInference&) = delete;

private:
    // Values of outer graphs follow the arguments.
    SymbolicValue input(const std::vector<Shape>& arguments, ValueId id) const {
        auto& inputs = builder_.graph().inputs();
        auto place = size_t(std::ranges::find(inputs, id) - inputs.begin());
        size_t first = inputs.size() - builder_.captured().size();
        if (place < arguments.size()) return {arguments[place], {}, {}};
        return place < first ? SymbolicValue() : symbolic_value(builder_.captured()[place - first]);
    }

    Importer& importer_;
    GraphBuilder& builder_;
    SymbolicInference inference_;
};

// Sizes of a step's results are no sizes of other steps' results.
SymbolicExtent outside(const Tensor& result, int axis, const SymbolicExtent& inside) {
    return is_known_late(inside) ? unknown_extent(result, axis) : inside;
}

}  // namespace

void Arguments::add_like(const Tensor& t) {
    specs.push_back(t.spec());
    shapes.push_back(symbolic_shape(t));
}

void Arguments::add_slice(const Tensor& t) {
    add_like(t);
    specs.back() = slice_of(t.spec());
    auto& shape = shapes.back();
    if (shape.is_known() && !shape.rank()) invalid("a scalar has no slices");
    if (shape.is_known()) shape.erase(0);
}

void Arguments::add_scalar(DType dtype) {
    specs.push_back({dtype, Shape{}, {}});
    shapes.emplace_back();
}

InnerResults record_inner(const Site& site, const Arguments& arguments, Tensors& captured,
                          const std::function<Tensors(std::span<const Tensor>)>& function) {
    InnerResults recorded;
    recorded.graph = capture_subgraph(arguments.specs, captured, [&](std::span<const Tensor> inputs) {
        InnerInference inference(site, arguments.shapes);
        Tensors results = function(inputs);
        for (auto& result : results) {
            if (!result) unsupported("an inner graph with unsupported nodes");
            site.importer.require_tensor(result, "as the result of an inner graph");
            if (site.importer.texts().has(result)) unsupported("text as the result of an inner graph");
            result = ops::copy(result);
            recorded.specs.push_back(result.spec());
            recorded.shapes.push_back(symbolic_shape(result));
        }
        return results;
    });
    return recorded;
}

bool are_alike(const Shape& a, const Shape& b) {
    if (!a.is_known() || !b.is_known() || a.rank() != b.rank())
        return a.is_known() == b.is_known() && a.rank() == b.rank();
    auto with_one_length = [](const SymbolicExtent& extent) {
        return substitute(extent, [](std::string_view name) {
            return name.starts_with('?') ? std::optional(SymbolicExtent::symbol("?")) : std::nullopt;
        });
    };
    for (int axis = 0; axis < a.rank(); ++axis)
        if (!with_one_length(a.extent(axis)).is(with_one_length(b.extent(axis)))) return false;
    return true;
}

SubgraphRef with_inputs(const SubgraphRef& graph, std::span<const Tensor> all) {
    if (graph->input_count() == all.size()) return graph;
    Graph longer = graph_of(graph);
    for (size_t i = longer.inputs().size(); i < all.size(); ++i)
        longer.add_input(all[i].spec(), text("in_", i));
    return make_subgraph(std::move(longer));
}

void assume_either(const Tensor& result, const Shape& a, const Shape& b) {
    if (!a.is_known() || !b.is_known()) return;
    if (a.rank() != b.rank()) {
        assume_axes(result, std::max(a.rank(), b.rank()));
        return;
    }
    Shape shape = a;
    for (int axis = 0; axis < a.rank(); ++axis)
        shape.set(axis, a.extent(axis).is(b.extent(axis)) ? outside(result, axis, a.extent(axis))
                                                          : unknown_extent(result, axis));
    assume(result, shape);
}

void assume_like(const Tensor& result, const Shape& like, const IntList& axes) {
    if (!like.is_known()) return;
    Shape shape = like;
    for (int64_t axis : axes) shape.set(int(axis), unknown_extent(result, int(axis)));
    assume(result, shape);
}

void assume_stacked(const Tensor& result, const Shape& slices) {
    if (!slices.is_known()) return;
    Shape shape;
    shape.push_back(unknown_extent(result, 0));
    for (int axis = 0; axis < slices.rank(); ++axis)
        shape.push_back(outside(result, axis + 1, slices.extent(axis)));
    assume(result, shape);
}

}  // namespace mge::onnx
