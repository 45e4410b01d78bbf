// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/other_shapes.h"

#include "libmge/graph/symbolic/symbolic_shapes.h"

namespace mge {

OtherShapes::OtherShapes(const Graph& graph, const PassOptions& options) {
    if (options.fixed_shapes) {
        for (auto& value : graph.values()) shapes_.push_back(value.spec.shape);
        return;
    }
    auto symbolic = options.names_are_sizes ? symbolic_shapes(graph, named_extent) : symbolic_shapes(graph);
    shapes_ = std::move(symbolic.shapes);
    for (auto& guard : symbolic.guards) {
        if (guard.relation != Guard::Relation::equal) continue;
        Extent a = representative(guard.a), b = representative(guard.b);
        if (!a.is(b)) equals_.emplace(a.raw(), b);
    }
}

Extent OtherShapes::representative(Extent extent) const {
    for (auto found = equals_.find(extent.raw()); found != equals_.end(); found = equals_.find(extent.raw()))
        extent = found->second;
    return extent;
}

bool OtherShapes::are_same(const Extent& a, const Extent& b) const {
    return is_equal(a, b).value_or(false) || representative(a).is(representative(b));
}

bool OtherShapes::is_same_shape(ValueId a, ValueId b) const {
    auto &of_a = shapes_[size_t(a)], &of_b = shapes_[size_t(b)];
    if (!of_a.is_known() || of_a.rank() != of_b.rank()) return false;
    for (int axis = 0; axis < of_a.rank(); ++axis)
        if (!are_same(of_a.extent(axis), of_b.extent(axis))) return false;
    return true;
}

bool OtherShapes::is_same_extent(ValueId a, int axis_of_a, ValueId b, int axis_of_b) const {
    auto &of_a = shapes_[size_t(a)], &of_b = shapes_[size_t(b)];
    return axis_of_a < of_a.rank() && axis_of_b < of_b.rank() &&
           are_same(of_a.extent(axis_of_a), of_b.extent(axis_of_b));
}

bool OtherShapes::is_fixed(ValueId value, int axis) const {
    auto& shape = shapes_[size_t(value)];
    return axis < shape.rank() && shape.extent(axis).is_number();
}

}  // namespace mge
