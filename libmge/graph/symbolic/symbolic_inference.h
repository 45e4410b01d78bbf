// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape inference where extents are symbols, for a graph that may still grow.

#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/graph/symbolic/symbolic_values.h"
#include "libmge/tensor/extent.h"

namespace mge {

struct SymbolicValue {
    Shape shape = Shape::unknown();  // unknown if the rank is known only at run time
    ExtentList elements{};
    Tensor constant{};               // a small value that is the same in every run, or null
    std::optional<int> most_axes{};  // the largest rank that an unknown shape may have
};

class MGE_API SymbolicInference {
public:
    struct Options {
        // Returns a symbol for an extent that an operator cannot infer. Its name is `prefix`, the value and
        // the axis.
        std::function<Extent(const std::string& name, int64_t lower)> unknown;
        // Describes an input of the graph, when it is first needed.
        std::function<SymbolicValue(ValueId)> input;
        std::string prefix = "?";
        // Computes constants, and gives symbols to unknown elements of small integer tensors.
        bool follows_values = false;
    };
    // The graph must outlive this object. It may get more nodes, but those it has stay.
    SymbolicInference(const Graph& graph, Options options) : graph_(graph), options_(std::move(options)) {}

    // Infers the nodes that the graph got since the last call.
    void follow();
    // Follows the graph first. The reference is valid until then.
    const SymbolicValue& at(ValueId id);
    // Declares the shape of a value: it replaces a shape of unknown rank, and extents that could not be
    // inferred.
    void assume(ValueId id, const Shape& shape);
    // Declares the largest rank of a value of unknown rank.
    void assume_axes(ValueId id, int most_axes);
    // The symbol of an extent that cannot be inferred.
    Extent unknown_extent(ValueId id, int axis) const;
    // Adds the guards of an application that is not in the graph because an operator refused it.
    void note_refused(const Node& application);

    const std::vector<Guard>& guards() const { return guards_; }
    // Approximate memory of the results, in bytes.
    size_t bytes() const { return bytes_; }
    std::vector<SymbolicValue> take() && { return std::move(values_); }

private:
    struct Application;
    void start(ValueId id);
    void infer(const Node& node);
    Application application_of(const Node& node) const;
    void give_missing_axes(Application& application) const;
    TensorSpecs infer_outputs(const Application& application);
    TensorSpecs with_items(const Application& application);
    // Gives results of a `cond` whose branches have different shapes the sizes that these share.
    void add_shared_sizes(const Application& application, TensorSpecs& outputs) const;
    std::vector<Shape> shapes_of_branch(const Application& application, const SubgraphRef& branch,
                                        std::string_view name) const;
    TensorSpecs recorded(const Node& node, bool keeps_rank);
    // Returns the rank of an output and the sizes of axes that are not cut, if host values are unknown.
    Shape shape_at_unknown_values(const Application& application) const;
    void limit_forms(Shape& shape, ValueId id);
    Extent unknown_element(ValueId id, size_t i) const;
    void name_elements(ValueId id, SymbolicValue& value);
    Tensors constants_of(const Application& application, const TensorSpecs& outputs) const;
    void add(const Guard& guard);

    const Graph& graph_;
    Options options_;
    std::vector<SymbolicValue> values_;  // by id
    size_t nodes_ = 0, bytes_ = 0;
    std::vector<Guard> guards_;
    std::set<std::tuple<Guard::Relation, int64_t, int64_t>> seen_;
};

}  // namespace mge
