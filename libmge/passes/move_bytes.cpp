// SPDX-License-Identifier: Apache-2.0
// Data movement operators move byte steps instead of the real numbers that they represent, which are four
// times as large:
//
//     transpose(dequantize(x)) => dequantize(transpose(x))
//     quantize(transpose(x))   => transpose(quantize(x))
//     quantize(concat(x, y))   => concat(quantize(x), quantize(y))
//     max_pool(dequantize(x))  => dequantize(max_pool(x)), if the scale is positive
//
// if scale and zero point are one number each and the real numbers have no other readers. No operator
// processes more elements than before. Adjacent pairs quantize(dequantize(x)) become functions of bytes
// (tabulate_bytes).
//
// The pass is not a table of rules (graph/match.h), because each real value carries the bytes, scale and zero
// point that it stands for to the next operator.

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/split.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Moves the elements of its first input, some or all of them.
bool moves_first(const Node& node) {
    for (auto* op : {&ops::AddAxis::info, &ops::Flatten::info, &ops::RemoveAxis::info, &ops::Reshape::info,
                     &ops::Slice::info, &ops::Split::info, &ops::Transpose::info})
        if (node.op == op) return node.op != &ops::Split::info || node.inputs.size() == 1;
    return false;
}
// Selects elements of its input by their order.
bool selects(const Node& node) { return node.op == &ops::MaxPool2d::info; }
bool joins(const Node& node) { return node.op == &ops::Concat::info; }
std::span<const ValueId> moved_inputs(const Node& node) {
    return std::span(node.inputs).first(joins(node) ? node.inputs.size() : 1);
}

// Bytes in the target, the numbers of the source that give them meaning, of which the zero point may be
// absent, and the node there that did so first.
struct Steps {
    ValueId bytes = no_value, scale = no_value, zero = no_value;
    NodeId dequantize = -1;
};

class Mover {
public:
    explicit Mover(const Graph& graph)
        : graph_(graph), rewrite_(graph), uses_(graph.use_counts()), steps_(graph.values().size()) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i)
            if (!move_steps(NodeId(i)) && !quantize_before(NodeId(i))) copy(NodeId(i));
        return rewrite_.finish();
    }

private:
    void copy(NodeId id);
    bool move_steps(NodeId id);
    bool quantize_before(NodeId id);
    ValueId quantized(ValueId real, const Node& quantize);
    bool may_quantize_before(ValueId real) const;
    bool is_positive(ValueId scale) const;
    ValueId one_number(ValueId id);
    std::vector<ValueId> with_scale(ValueId x, ValueId scale, ValueId zero);
    ValueId made(NodeId id) { return rewrite_.target().node(id).outputs[0]; }
    NodeId add(const Node& like, const OpInfo& op, std::shared_ptr<const void> params,
               std::vector<ValueId> inputs, const TensorSpecs& outputs);
    // The specs of a node's outputs with another dtype.
    TensorSpecs specs_as(const Node& node, DType dtype) const;
    DType dtype_in_target(ValueId id) { return rewrite_.target().value(id).spec.dtype; }

    const Graph& graph_;
    Rewrite rewrite_;
    std::vector<int> uses_;
    std::vector<Steps> steps_;  // by real value of the source
};

bool is_one_number(const Graph& graph, ValueId id) {
    return id == no_value || (graph.value(id).is_constant() && graph.value(id).spec.numel() == 1);
}
ValueId zero_of(const Node& node) { return given_input(node, 2); }

// Whatever rank the bytes come to have.
ValueId Mover::one_number(ValueId id) {
    if (id == no_value) return no_value;
    auto& value = graph_.value(id);
    if (value.spec.shape.rank() == 0) return rewrite_(id);
    return rewrite_.target().add_constant(value.constant.with_shape({}), value.name, value.device);
}

std::vector<ValueId> Mover::with_scale(ValueId x, ValueId scale, ValueId zero) {
    std::vector<ValueId> inputs{x, one_number(scale)};
    if (zero != no_value) inputs.push_back(one_number(zero));
    return inputs;
}

bool Mover::is_positive(ValueId scale) const {
    return *static_cast<const float*>(to_host(graph_.value(scale).constant).data()) > 0;
}

void Mover::copy(NodeId id) {
    rewrite_.copy(id);
    auto& node = graph_.node(id);
    bool is_ours = node.op == &ops::Dequantize::info &&
                   ops::is_byte(graph_.value(node.inputs[0]).spec.dtype) &&
                   is_one_number(graph_, node.inputs[1]) && is_one_number(graph_, zero_of(node));
    if (is_ours)
        steps_[size_t(node.outputs[0])] = {rewrite_(node.inputs[0]), node.inputs[1], zero_of(node), id};
}

NodeId Mover::add(const Node& like, const OpInfo& op, std::shared_ptr<const void> params,
                  std::vector<ValueId> inputs, const TensorSpecs& outputs) {
    return rewrite_.target().add_node(op, std::move(params), std::move(inputs), like.name, &outputs,
                                      &graph_.place(like));
}

TensorSpecs Mover::specs_as(const Node& node, DType dtype) const {
    TensorSpecs specs = specs_of(graph_, node.outputs);
    for (auto& spec : specs) spec.dtype = dtype;
    return specs;
}

bool Mover::move_steps(NodeId id) {
    auto& node = graph_.node(id);
    if (!moves_first(node) && !joins(node) && !selects(node)) return false;
    const auto operands = moved_inputs(node);
    const Steps first = steps_[size_t(node.inputs[0])];
    std::vector<ValueId> inputs = rewrite_(node.inputs);
    for (size_t i = 0; i < operands.size(); ++i) {
        auto& steps = steps_[size_t(operands[i])];
        bool fits = steps.bytes != no_value && uses_[size_t(operands[i])] == 1 &&
                    is_same_number(graph_, steps.scale, first.scale) &&
                    is_same_number(graph_, steps.zero, first.zero);
        if (!fits || dtype_in_target(steps.bytes) != dtype_in_target(first.bytes)) return false;
        inputs[i] = steps.bytes;
    }
    if (selects(node) && !is_positive(first.scale)) return false;
    auto& target = rewrite_.target();
    TensorSpecs reals = specs_of(graph_, node.outputs);
    NodeId moved =
        add(node, *node.op, node.params, std::move(inputs), specs_as(node, dtype_in_target(first.bytes)));
    const auto bytes = target.node(moved).outputs;
    for (size_t i = 0; i < bytes.size(); ++i) {
        NodeId real = add(node, ops::Dequantize::info, std::make_shared<const ops::Dequantize::Params>(),
                          with_scale(bytes[i], first.scale, first.zero), {reals[i]});
        rewrite_.replace(node.outputs[i], made(real));
        for (ValueId operand : operands)
            take_work(graph_.node(steps_[size_t(operand)].dequantize), target.node(real));
        steps_[size_t(node.outputs[i])] = {bytes[i], first.scale, first.zero, first.dequantize};
    }
    take_work(node, target.node(moved));
    return true;
}

// Inputs and outputs have the same number of elements.
bool Mover::may_quantize_before(ValueId real) const {
    const Node* node = maker_of(graph_, real);
    if (!node || uses_[size_t(real)] != 1 || steps_[size_t(real)].bytes != no_value) return false;
    if ((!moves_first(*node) && !joins(*node)) || node->outputs.size() != 1) return false;
    int64_t elements = 0;
    for (ValueId id : moved_inputs(*node)) {
        auto& spec = graph_.value(id).spec;
        if (spec.dtype != DType::f32 || !spec.shape.is_known()) return false;
        elements += spec.numel();
    }
    auto& spec = graph_.value(real).spec;
    return node->op != &ops::Slice::info && spec.shape.is_known() && elements == spec.numel();
}

// The steps of a real value of the source.
ValueId Mover::quantized(ValueId real, const Node& quantize) {
    if (!may_quantize_before(real)) {
        TensorSpec spec = graph_.value(real).spec;
        spec.dtype = graph_.value(quantize.outputs[0]).spec.dtype;
        NodeId steps = add(quantize, ops::Quantize::info, quantize.params,
                           with_scale(rewrite_(real), quantize.inputs[1], zero_of(quantize)), {spec});
        take_work(quantize, rewrite_.target().node(steps));
        return made(steps);
    }
    auto& node = *maker_of(graph_, real);
    std::vector<ValueId> inputs = rewrite_(node.inputs);
    for (size_t i = 0; i < moved_inputs(node).size(); ++i) inputs[i] = quantized(node.inputs[i], quantize);
    NodeId moved = add(node, *node.op, node.params, std::move(inputs),
                       specs_as(node, graph_.value(quantize.outputs[0]).spec.dtype));
    take_work(node, rewrite_.target().node(moved));
    return made(moved);
}

bool Mover::quantize_before(NodeId id) {
    auto& node = graph_.node(id);
    bool is_ours = node.op == &ops::Quantize::info && is_one_number(graph_, node.inputs[1]) &&
                   is_one_number(graph_, zero_of(node)) && may_quantize_before(node.inputs[0]) &&
                   ops::is_byte(graph_.value(node.outputs[0]).spec.dtype);
    if (is_ours) rewrite_.replace(node.outputs[0], quantized(node.inputs[0], node));
    return is_ours;
}

}  // namespace

Graph move_bytes(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&ops::Quantize::info, &ops::Dequantize::info}))
        return remove_dead_nodes(std::move(graph), options);
    return remove_dead_nodes(Mover(graph).run(), options);
}

}  // namespace mge
