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

// A graph read from a file, as a function that can be trained. Its weights are the named float constants of
// at least one axis that a gradient reaches. Each call takes their values:
//
//     GraphFunction net(open_model("net.onnx").graph, default_device());
//     Tensors outputs = net.call(inputs, weights);  // at once, on a tape, or in a trace
class MGE_API GraphFunction {
public:
    // Copies constants to `place`. Throws UserError if an operator is not differentiable.
    GraphFunction(Graph graph, DeviceId place);
    const std::vector<NamedWeight>& weights() const { return weights_; }
    Tensors call(std::span<const Tensor> inputs, std::span<const Tensor> weights) const;

private:
    std::vector<NamedWeight> weights_;
    Tensors others_;  // constants on other devices than the graph's, passed as additional inputs
    SubgraphRef function_;
};

}  // namespace mge
