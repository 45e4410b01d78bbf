// SPDX-License-Identifier: Apache-2.0
// conv(x, w, b) + r => conv(x, w, b, residual = r) for r of the same shape. The kernels add in place on their
// destination, so the memory plan lets the result take over the residual's buffer. When both sides are
// convolutions (the downsampling block of a residual network) the later one takes in the other's result.

#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

bool takes_residual(const Node& node) {
    return input_position(*node.op, "residual") && named_input(node, "residual") == no_value;
}

}  // namespace

Graph fuse_residual(Graph graph, const PassOptions& options) {
    auto uses = graph.use_counts();
    OtherShapes shapes(graph, options);
    auto producer_of = [&](const Node& node) -> NodeId {
        if (node.op != &ops::Add::info || node.inputs[0] == node.inputs[1]) return -1;
        auto& result = graph.value(node.outputs[0]).spec;
        NodeId latest = -1;
        for (int side : {0, 1}) {
            NodeId id = fusable_producer(graph, uses, node.inputs[size_t(side)], result);
            if (id < 0 || !takes_residual(graph.node(id))) continue;
            if (!may_fuse(graph.node(id), options.graph_opt.fuse_conv_bias_with_z, "fuse_residual", options))
                continue;
            ValueId residual = node.inputs[size_t(1 - side)];
            if (!(graph.value(residual).spec == result)) continue;
            // At another shape one of them might have to be broadcast.
            if (!shapes.is_same_shape(residual, node.inputs[size_t(side)])) continue;
            latest = std::max(latest, id);
        }
        return latest;
    };
    auto fuse = [&](Rewrite& rewrite, const Node& node, const Node& producer) -> FusedNode {
        ValueId residual = node.inputs[0] == producer.outputs[0] ? node.inputs[1] : node.inputs[0];
        return {producer.params,
                with_input(*producer.op, rewrite(producer.inputs), "residual", rewrite(residual))};
    };
    return absorb_producers(std::move(graph), producer_of, fuse);
}

}  // namespace mge
