// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/epilogue.h"

#include <algorithm>

#include "libmge/graph/infer.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge {
namespace {

constexpr int fusion_level = 2;
constexpr std::string_view no_activation = "none";

Shape among_ones(int rank, int axis, int64_t extent) {
    Shape shape;
    for (int i = 0; i < rank; ++i) shape.push_back(i == axis ? extent : 1);
    return shape;
}

bool accepts_bias(const Graph& graph, const Node& node, const TensorSpec& bias) {
    TensorSpecs specs = input_specs(graph, node);
    size_t position = *input_position(*node.op, "bias");
    if (specs.size() <= position) specs.resize(position + 1);
    specs[position] = bias;
    for (auto& spec : specs) spec.layout = {};
    try {
        return node.op->infer(node.params.get(), specs).at(0).shape ==
               graph.value(node.outputs[0]).spec.shape;
    } catch (const UserError&) {
        return false;
    }
}

}  // namespace

bool has_activation(const Node& node) {
    auto value = find_param(node, "activation");
    return value && *value != ParamValue(std::string(no_activation));
}

NodeId fusable_producer(const Graph& graph, const std::vector<int>& use_counts, ValueId value,
                        const TensorSpec& result) {
    if (value == no_value || use_counts[size_t(value)] != 1) return -1;
    NodeId id = graph.value(value).producer;
    auto& spec = graph.value(value).spec;
    if (id < 0 || !spec.shape.is_known() || !(spec == result)) return -1;
    auto& node = graph.node(id);
    return node.op->epilogue && !has_activation(node) ? id : -1;
}

bool may_fuse(const Node& producer, const std::optional<bool>& convolution_switch, std::string_view pass,
              const PassOptions& options) {
    if (auto it = options.passes.find(pass); it != options.passes.end()) return it->second;
    bool is_convolution = producer.op == &ops::Conv2d::info;
    return is_convolution && convolution_switch ? *convolution_switch : options.level >= fusion_level;
}

Tensor as_bias(const Graph& graph, const Node& node, const Tensor& constant) {
    auto& output = graph.value(node.outputs[0]).spec;
    if (!constant || constant.dtype() != output.dtype || output.shape.rank() < 1) return {};
    int rank = output.shape.rank();
    int axis = normalize_axis("bias", node.op->epilogue->channel_axis, rank);
    int64_t channels = output.shape[axis];
    if (constant.spec().numel() != channels) return {};
    // Aligned to the right, as broadcasting does, only the channel axis may be longer than 1.
    auto& shape = constant.shape();
    for (int i = 0; i < shape.rank(); ++i) {
        int at = rank - shape.rank() + i;
        if (shape[i] != 1 && at != axis) return {};
    }
    for (auto& wanted : {among_ones(rank, axis, channels), Shape{channels}})
        if (accepts_bias(graph, node, {constant.dtype(), wanted, {}})) return constant.with_shape(wanted);
    return {};
}

Graph absorb_producers(Graph&& graph, const std::function<NodeId(const Node&)>& producer_of,
                       const std::function<FusedNode(Rewrite&, const Node&, const Node&)>& fuse) {
    std::vector<NodeId> taken_in(graph.nodes().size(), -1);
    std::vector<bool> is_absorbed(graph.nodes().size());
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        NodeId producer = producer_of(graph.node(NodeId(i)));
        if (producer < 0 || is_absorbed[size_t(producer)]) continue;
        taken_in[i] = producer;
        is_absorbed[size_t(producer)] = true;
    }
    if (std::ranges::find(is_absorbed, true) == is_absorbed.end()) return std::move(graph);
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        if (is_absorbed[i]) continue;
        if (taken_in[i] < 0) {
            rewrite.copy(NodeId(i));
            continue;
        }
        auto& producer = graph.node(taken_in[i]);
        auto fused = fuse(rewrite, graph.node(NodeId(i)), producer);
        rewrite.emit(NodeId(i), *producer.op, std::move(fused.params), std::move(fused.inputs),
                     producer.name);
        rewrite.absorb(taken_in[i], rewrite(graph.node(NodeId(i)).outputs[0]));
    }
    return rewrite.finish();
}

std::vector<ValueId> with_input(const OpInfo& op, std::vector<ValueId> inputs, std::string_view name,
                                ValueId value) {
    size_t position = *input_position(op, name);
    if (inputs.size() <= position) inputs.resize(position + 1, no_value);
    inputs[position] = value;
    return inputs;
}

}  // namespace mge
