// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one run of a node has to compute and to move, whatever algorithm does it: the figures that achieved
// FLOP/s and GB/s are made of. The rules are MegEngine's where it has one (a multiply-add counts as two
// operations); footprint.cpp is the table of them.

#include <optional>

#include "libmge/graph/graph.h"

namespace mge {

struct Footprint {
    std::optional<double> operations;  // none: the operator has no rule, or a shape is known only in a run
    std::optional<double> bytes;       // inputs read and outputs written, each once; none: shape not known
};

MGE_API Footprint footprint(const Graph& graph, const Node& node);

// The same without a graph. `inputs` has a spec of dtype none where an optional input is absent.
MGE_API Footprint footprint(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                            std::span<const TensorSpec> outputs);

}  // namespace mge
