// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape inference over a graph. Output specs of a node may depend on the *value* of an input (the target of a
// reshape). Such values are mostly small integers that follow from shapes, so they are computed here, before
// any run, by running their operators on known values.

#include <memory>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// An application of an operator with its host values folded in: the parameters to use, the number of inputs
// that remain, and the outputs.
struct Inferred {
    std::shared_ptr<const void> params;
    size_t input_count = 0;
    TensorSpecs outputs;
    bool is_resolved = true;  // false: a host value or an input shape is known only at run time
};

// `values` has one entry per input, null if the value is unknown. `recorded` are outputs seen earlier, which
// give number and dtypes of outputs of unknown shape. Without them, dtypes are found by trial.
MGE_API Inferred infer_application(const OpInfo& op, std::shared_ptr<const void> params, Specs inputs,
                                   std::span<const Tensor> values, const TensorSpecs* recorded = nullptr);

// Computes the outputs of an application on the host before any run. Returns no tensors if an input is
// unknown (null), if the result is too large, or if the operator has an effect. `params` and `inputs` are as
// infer_application() leaves them.
MGE_API Tensors known_outputs(const OpInfo& op, const void* params, Specs inputs,
                              std::span<const Tensor> values, Specs outputs);

// The values of a graph that are known before a run: constants, and small results of operators on constants
// or known shapes. Nodes must be added in order.
class MGE_API KnownValues {
public:
    // Returns null if the value is unknown.
    Tensor find(const Graph& graph, ValueId id) const;
    void add(const Graph& graph, NodeId id);
    // Values computed here by value id; null for all others, including constants.
    const Tensors& computed() const { return computed_; }

private:
    Tensors computed_;
};

// True if a host value is still an input instead of folded into the parameters.
MGE_API bool is_unresolved(const Node& node);

MGE_API TensorSpecs input_specs(const Graph& graph, const Node& node);

}  // namespace mge
