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

match::Pattern fusable(std::string name) {
    auto is_open = [](const match::Match& m, const Node& node) {
        auto& spec = m.spec(node.outputs[0]);
        return node.op->epilogue && !has_activation(node) && spec.shape.is_known() && spec == m.result();
    };
    return match::used_once(match::capture(std::move(name), match::node(is_open)));
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

match::New fused(const Node& producer, std::shared_ptr<const void> params) {
    return {*producer.op, std::move(params), {producer.inputs.begin(), producer.inputs.end()}, producer.name};
}

match::New fused(const Node& producer,
                 std::initializer_list<std::pair<std::string_view, match::New>> inputs) {
    std::vector<match::New> all(producer.inputs.begin(), producer.inputs.end());
    for (auto& [name, input] : inputs) {
        size_t position = *input_position(*producer.op, name);
        if (all.size() <= position) all.resize(position + 1, no_value);
        all[position] = input;
    }
    return {*producer.op, producer.params, std::move(all), producer.name};
}

}  // namespace mge
