// SPDX-License-Identifier: Apache-2.0
// relu(conv(x, w, b)) => conv(x, w, b; activation = relu), and so for every activation that the operator
// knows by the name of the elementwise operator.

#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// The name of the activation that computes what the elementwise operator does, NaN included.
std::string activation_name(const Node& node) {
    bool keeps_nan = find_param(node, "keeps_nan") == ParamValue(true);
    return text(node.op->name, keeps_nan ? "_keeps_nan" : "");
}

// Null when the producer has no such activation.
std::shared_ptr<const void> with_activation(const Node& producer, const Node& node) {
    try {
        return with_param(*producer.op, producer.params.get(), "activation", activation_name(node));
    } catch (const UserError&) {
        return nullptr;
    }
}

}  // namespace

Graph fuse_activation(Graph graph, const PassOptions& options) {
    auto uses = graph.use_counts();
    auto producer_of = [&](const Node& node) -> NodeId {
        bool is_plain = node.op->traits.elementwise && node.inputs.size() == 1;
        // Epilogues compute in f32.
        if (!is_plain || graph.value(node.inputs[0]).spec.dtype == DType::f64) return -1;
        NodeId id = fusable_producer(graph, uses, node.inputs[0], graph.value(node.outputs[0]).spec);
        if (id < 0) return -1;
        auto& producer = graph.node(id);
        // The activation behind a residual belongs to it.
        auto& wanted = named_input(producer, "residual") == no_value
                           ? options.graph_opt.fuse_conv_bias_nonlinearity
                           : options.graph_opt.fuse_conv_bias_with_z;
        if (!may_fuse(producer, wanted, "fuse_activation", options)) return -1;
        return with_activation(producer, node) ? id : -1;
    };
    auto fuse = [&](Rewrite& rewrite, const Node& node, const Node& producer) -> FusedNode {
        return {with_activation(producer, node), rewrite(producer.inputs)};
    };
    return absorb_producers(std::move(graph), producer_of, fuse);
}

}  // namespace mge
