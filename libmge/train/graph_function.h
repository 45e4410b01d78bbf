// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/op/subgraph.h"

namespace mge {

struct NamedWeight {
    std::string name;
    Tensor value;
};

// A graph that was read from a file as a function that can be trained. Its weights are the named constants
// of floats with at least one axis that the gradient of some output reaches; each call is given them:
//
//     GraphFunction net(open_model("net.onnx").graph, default_device());
//     Tensors outputs = net.call(inputs, weights);  // at once, on a tape, or in a trace
class MGE_API GraphFunction {
public:
    // Constants are brought to `place`. UserError when an operator refuses to be differentiated.
    GraphFunction(Graph graph, DeviceId place);
    const std::vector<NamedWeight>& weights() const { return weights_; }
    Tensors call(std::span<const Tensor> inputs, std::span<const Tensor> weights) const;

private:
    std::vector<NamedWeight> weights_;
    Tensors others_;  // constants that have to lie elsewhere than in the graph: further inputs
    SubgraphRef function_;
};

}  // namespace mge
