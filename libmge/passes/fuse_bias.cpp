// SPDX-License-Identifier: Apache-2.0
// conv(x, w) + c => conv(x, w, bias = c), and the same for matmul, when c is a constant with one element per
// output channel. A bias that is already there is added up.

#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/passes/epilogue.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// With one channel at another shape, the other operand would be broadcast to the constant.
bool has_fixed_channels(const Graph& graph, const Node& producer, const OtherShapes& shapes) {
    ValueId result = producer.outputs[0];
    int axis =
        normalize_axis("bias", producer.op->epilogue->channel_axis, graph.value(result).spec.shape.rank());
    return shapes.is_fixed(result, axis);
}

Tensor combined_bias(const Graph& graph, const Node& producer, const Tensor& added) {
    Tensor bias = as_bias(graph, producer, added);
    ValueId present = named_input(producer, "bias");
    if (!bias || present == no_value) return bias;
    Tensor constant = constant_of(graph, present);
    if (!constant || constant.spec().numel() != bias.spec().numel()) return {};
    InterpreterScope eager(eager_interpreter());
    return ops::add(constant, bias.with_shape(constant.shape()));
}

std::optional<match::New> with_bias(const match::Match& m, const FusionContext& context) {
    auto& producer = m.node("producer");
    auto& options = context.options;
    if (!may_fuse(producer, options.switches.fuse_bias, "fuse_bias", options)) return std::nullopt;
    Tensor bias = combined_bias(m.graph(), producer, m.constant("added"));
    if (!bias || !has_fixed_channels(m.graph(), producer, context.shapes)) return std::nullopt;
    return fused(producer, {{"bias", bias}});
}

}  // namespace

Graph fuse_bias(Graph graph, const PassOptions& options) {
    static const match::Table<FusionContext> rules{
        {match::either_order<ops::Add>(fusable("producer"), match::constant("added")), with_bias}};
    const FusionContext context{options, {graph, options}};
    return match::replace_matches(std::move(graph), rules, context);
}

}  // namespace mge
