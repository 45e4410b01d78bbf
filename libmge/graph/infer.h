// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shape inference over a graph. What a node's outputs look like may depend on the *value* of an input (the
// target of a reshape); such values are mostly small integers that follow from shapes, so they are computed
// here, ahead of any run, by running their operators on what is known.

#include <memory>
#include <span>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// One application of an operator with its host values folded in: the parameters to use, how many of the
// inputs still count, and the outputs.
struct Inferred {
    std::shared_ptr<const void> params;
    size_t input_count = 0;
    TensorSpecs outputs;
    bool is_resolved = true;  // false: a host value or an input's shape is not known before a run
};

// `values` (one per input) are null where the value is not known. `recorded` are the outputs as seen earlier:
// they give number and dtypes of outputs whose shapes are unknown; without them, dtypes are found by trying.
MGE_API Inferred infer_application(const OpInfo& op, std::shared_ptr<const void> params,
                                   std::span<const TensorSpec> inputs, std::span<const Tensor> values,
                                   const TensorSpecs* recorded = nullptr);

// The outputs of an application as the host knows them ahead of any run; none when it does not: an input is
// not known (null), too large, or an effect. `params` and `inputs` as infer_application() leaves them.
MGE_API Tensors known_outputs(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                              std::span<const Tensor> values, std::span<const TensorSpec> outputs);

// The values of a graph that are known before a run: constants, and small results of operators on them or on
// known shapes. Nodes are added in their order.
class MGE_API KnownValues {
public:
    // Null when not known.
    Tensor find(const Graph& graph, ValueId id) const;
    void add(const Graph& graph, NodeId id);
    // Values computed here, by value id; null for all others, constants too.
    const Tensors& computed() const { return computed_; }

private:
    Tensors computed_;
};

// A host value is still an input: it is not folded into the parameters.
MGE_API bool is_unresolved(const Node& node);

MGE_API TensorSpecs input_specs(const Graph& graph, const Node& node);

}  // namespace mge
