// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the passes that fuse into an operator's epilogue (op/facts.h) have in common.

#include <functional>

#include "libmge/graph/rewrite.h"
#include "libmge/passes/pass.h"

namespace mge {

// What of its epilogue a node already uses.
bool has_activation(const Node& node);

// The producer of `value` when it has an epilogue without activation yet, `value` is read only once and has
// the spec `result`; -1 otherwise.
NodeId fusable_producer(const Graph& graph, const std::vector<int>& use_counts, ValueId value,
                        const TensorSpec& result);

// Whether a fusing pass may touch the producer: for convolutions the switch says so, when it is set; for all
// others (and an unset switch) the pass's own level.
bool may_fuse(const Node& producer, const std::optional<bool>& convolution_switch, std::string_view pass,
              const PassOptions& options);

// The elements of `constant` in the shape in which `node` takes its bias; null when they vary along another
// axis, are not one per channel, or the node refuses them.
Tensor as_bias(const Graph& graph, const Node& node, const Tensor& constant);

// What a fused node computes from.
struct FusedNode {
    std::shared_ptr<const void> params;
    std::vector<ValueId> inputs;  // of the rewrite's target
};

// Lets nodes take in the producer of one of their inputs. `producer_of` says whose (-1: none); the producer
// is then not copied, and `fuse` makes the node that stands in place of both, with the operator of the
// producer. Both may look at the graph.
Graph absorb_producers(
    Graph&& graph, const std::function<NodeId(const Node&)>& producer_of,
    const std::function<FusedNode(Rewrite&, const Node& node, const Node& producer)>& fuse);

// The inputs with the named one set; the list grows when it was too short to have it.
std::vector<ValueId> with_input(const OpInfo& op, std::vector<ValueId> inputs, std::string_view name,
                                ValueId value);

}  // namespace mge
