// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the passes that fuse into an operator's epilogue (op/facts.h).

#include "libmge/graph/match.h"
#include "libmge/graph/rewrite.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {

// True if a node already has an activation in its epilogue.
bool has_activation(const Node& node);

// A value that the root alone reads, with the spec of the root's result, of a node that has an epilogue
// without an activation yet.
match::Pattern fusable(std::string name);

// Whether a fusing pass may change the producer: for convolutions according to the switch, if it is set; for
// all others (and an unset switch) according to the pass's own level.
bool may_fuse(const Node& producer, const std::optional<bool>& convolution_switch, std::string_view pass,
              const PassOptions& options);

// The elements of `constant` in the shape in which `node` takes its bias; null when they vary along another
// axis, are not one per channel, or the node refuses them.
Tensor as_bias(const Graph& graph, const Node& node, const Tensor& constant);

// The producer with other parameters, or with some of its inputs set by name.
match::New fused(const Node& producer, std::shared_ptr<const void> params);
match::New fused(const Node& producer, std::initializer_list<std::pair<std::string_view, match::New>> inputs);

// The context of the rules of the fusing passes.
struct FusionContext {
    const PassOptions& options;
    OtherShapes shapes;
};

}  // namespace mge
