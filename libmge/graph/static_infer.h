// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values of a graph that are known before any run: shapes, and elements of small values (arithmetic on
// shapes, bounds of slices). They follow from constants and from facts about the inputs. Evaluation is lazy,
// and a change of an input invalidates only what depends on it.

#include <optional>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// The source of knowledge about a value.
enum class InferSource : uint8_t {
    constant,    // constants only: it never changes
    run_static,  // also inputs
    missing,     // would be known if more were known about an input
    unknown,     // known only at run time: large or random values, results of effects
};
MGE_API std::string_view name_of(InferSource source);

class MGE_API StaticInference {
public:
    // Inputs start with the known shapes of the graph and without values.
    explicit StaticInference(const Graph& graph);

    // Sets the shape of a graph input and forgets its value.
    void set_shape(ValueId input, const Shape& shape);
    // Sets the value, and thus the shape, of a graph input; null forgets it.
    void set_value(ValueId input, const Tensor& value);

    InferSource shape_source(ValueId id);
    InferSource value_source(ValueId id);
    // shape() and value() throw UserError that names value and reason; the find functions return nullopt or
    // null.
    Shape shape(ValueId id);
    Tensor value(ValueId id);
    std::optional<Shape> find_shape(ValueId id);
    Tensor find_value(ValueId id);
    // The number of operator evaluations so far.
    size_t evaluations() const { return evaluations_; }

private:
    struct Known {
        TensorSpec spec;
        Tensor value;
        InferSource shape_source = InferSource::unknown, value_source = InferSource::unknown;
        bool is_current = false;  // for results of an operator: valid since the last change of its inputs
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
