// SPDX-License-Identifier: Apache-2.0
// conv(x, w) + c => conv(x, w, bias = c), and the same for matmul, when c is a constant with one element per
// output channel. A bias that is already there is added up.

#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/other_shapes.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Which input of the addition is the constant; -1: neither.
int constant_side(const Graph& graph, const Node& node) {
    if (node.op != &ops::Add::info) return -1;
    for (int side : {1, 0})
        if (constant_of(graph, node.inputs[size_t(side)])) return side;
    return -1;
}

// With one channel at another shape the constant would be what is not broadcast.
bool has_fixed_channels(const Graph& graph, const Node& producer, const OtherShapes& shapes) {
    ValueId result = producer.outputs[0];
    int axis =
        normalize_axis("bias", producer.op->epilogue->channel_axis, graph.value(result).spec.shape.rank());
    return shapes.is_fixed(result, axis);
}

Tensor combined_bias(const Graph& graph, const Node& add, int side, const Node& producer) {
    Tensor bias = as_bias(graph, producer, constant_of(graph, add.inputs[size_t(side)]));
    ValueId present = named_input(producer, "bias");
    if (!bias || present == no_value) return bias;
    Tensor constant = constant_of(graph, present);
    if (!constant || constant.spec().numel() != bias.spec().numel()) return {};
    InterpreterScope eager(eager_interpreter());
    return ops::add(constant, bias.with_shape(constant.shape()));
}

}  // namespace

Graph fuse_bias(Graph graph, const PassOptions& options) {
    auto uses = graph.use_counts();
    OtherShapes shapes(graph, options);
    auto producer_of = [&](const Node& node) -> NodeId {
        int side = constant_side(graph, node);
        if (side < 0) return -1;
        NodeId id =
            fusable_producer(graph, uses, node.inputs[size_t(1 - side)], graph.value(node.outputs[0]).spec);
        if (id < 0 ||
            !may_fuse(graph.node(id), options.graph_opt.fuse_conv_bias_nonlinearity, "fuse_bias", options))
            return -1;
        auto& producer = graph.node(id);
        return combined_bias(graph, node, side, producer) && has_fixed_channels(graph, producer, shapes) ? id
                                                                                                         : -1;
    };
    auto fuse = [&](Rewrite& rewrite, const Node& node, const Node& producer) -> FusedNode {
        Tensor bias = combined_bias(graph, node, constant_side(graph, node), producer);
        ValueId id = rewrite.target().add_constant(bias, {}, graph.place(producer));
        return {producer.params, with_input(*producer.op, rewrite(producer.inputs), "bias", id)};
    };
    return absorb_producers(std::move(graph), producer_of, fuse);
}

}  // namespace mge
