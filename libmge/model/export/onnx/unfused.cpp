// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/unfused.h"

#include <algorithm>

#include "libmge/graph/rewrite.h"
#include "libmge/model/export/onnx/site.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/elementwise/fused/fused_region.h"

namespace mge::to_onnx {
namespace {

bool is_fused(const Node& node) {
    return node.op == &ops::FusedElementwise::info || node.op == &ops::FusedRegion::info;
}

// The value that the last step computes.
ValueId add_steps(Graph& target, const ops::FusedProgram& program, std::vector<ValueId> registers) {
    for (auto& step : program.steps()) {
        if (!step.op) {
            registers.push_back(target.add_constant(number_tensor(step.constant, step.constant_dtype)));
            continue;
        }
        std::vector<ValueId> inputs;
        for (int operand : step.operands) inputs.push_back(registers[size_t(operand)]);
        NodeId added = target.add_node(*step.op, step.params, std::move(inputs));
        registers.push_back(target.node(added).outputs[0]);
    }
    return registers.back();
}

void add_unfused(Rewrite& rewrite, const Node& node) {
    auto inputs = rewrite(node.inputs);
    Graph& target = rewrite.target();
    if (node.op == &ops::FusedElementwise::info) {
        auto program = ops::FusedProgram::parse(node.as<ops::FusedElementwise::Params>().program);
        rewrite.replace(node.outputs[0], add_steps(target, program, std::move(inputs)));
        return;
    }
    auto& params = node.as<ops::FusedRegion::Params>();
    ValueId value = add_steps(target, ops::FusedProgram::parse(params.program), std::move(inputs));
    if (auto* reduction = ops::reduction_of(params)) {
        auto how = std::make_shared<const ops::ReduceParams>(ops::reduce_params(params));
        value = target.node(target.add_node(*reduction, how, {value})).outputs[0];
    }
    rewrite.replace(node.outputs[0], value);
}

}  // namespace

Graph unfused(Graph graph) {
    if (std::ranges::none_of(graph.nodes(), is_fused)) return graph;
    Rewrite rewrite(graph);
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        if (is_fused(node))
            add_unfused(rewrite, node);
        else
            rewrite.copy(NodeId(i));
    }
    return rewrite.finish();
}

}  // namespace mge::to_onnx
