// SPDX-License-Identifier: Apache-2.0
#pragma once
// What can be told of a graph's values ahead of any run: shapes, and elements of small ones (arithmetic on
// shapes, bounds of slices), from constants and from what is said of the inputs. Nothing is computed before
// it is asked for, and what an input's change does not reach is not computed again.

#include <optional>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Where what is known of a value comes from.
enum class InferSource : uint8_t {
    constant,    // constants alone: it never changes
    run_static,  // inputs as well
    missing,     // it would be known if more were said of an input
    unknown,     // only a run can tell: large values, random ones, results of effects
};
MGE_API std::string_view name_of(InferSource source);

class MGE_API StaticInference {
public:
    // Inputs have the shapes of the graph, as far as they are known, and no values.
    explicit StaticInference(const Graph& graph);

    // For an input of the graph, of its dtype; also its value is forgotten.
    void set_shape(ValueId input, const Shape& shape);
    // Its elements, and so its shape; null: not known any more.
    void set_value(ValueId input, const Tensor& value);

    InferSource shape_source(ValueId id);
    InferSource value_source(ValueId id);
    // UserError that names value and reason; find_…: nothing instead.
    Shape shape(ValueId id);
    Tensor value(ValueId id);
    std::optional<Shape> find_shape(ValueId id);
    Tensor find_value(ValueId id);
    // How often an operator has been looked at.
    size_t evaluations() const { return evaluations_; }

private:
    struct Known {
        TensorSpec spec;
        Tensor value;
        InferSource shape_source = InferSource::unknown, value_source = InferSource::unknown;
        bool is_current = false;  // what an operator makes: since its inputs changed last
    };
    Known& known(ValueId id);
    Known& input(ValueId id);
    void evaluate(NodeId id);
    void infer(const Node& node, const Tensors& values);
    void forget_readers(ValueId id);

    const Graph graph_;
    std::vector<Known> known_;                  // by value
    std::vector<std::vector<NodeId>> readers_;  // by value
    size_t evaluations_ = 0;
};

}  // namespace mge
