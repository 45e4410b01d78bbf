// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/node_problem.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/kernel/lookups.h"
#include "libmge/op/backend.h"
#include "libmge/op/physical_form.h"

namespace mge {
namespace {

bool has_layout(const TensorSpecs& specs) {
    return std::any_of(specs.begin(), specs.end(), [](auto& s) { return !s.layout.is_plain(); });
}

}  // namespace

DeviceId running_place(const Graph& graph, const Node& node) {
    return node.op->place ? graph.value(node.inputs.at(0)).device : graph.place(node);
}

const void* address_for(DeviceId device, const Tensor& constant) {
    return constant.device().is_host() == device.is_host() ? constant.address() : nullptr;
}

Operands operands_of(const Graph& graph, const Node& node, bool packs) {
    Operands result{.device = running_place(graph, node), .output_device = graph.place(node)};
    result.inputs.reserve(node.inputs.size());
    result.constants.reserve(node.inputs.size());
    result.outputs.reserve(node.outputs.size());
    for (ValueId id : node.inputs) {
        result.inputs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
        Tensor constant = id == no_value ? Tensor{} : graph.value(id).constant;
        result.constants.push_back(constant && packs ? address_for(result.device, constant) : nullptr);
    }
    for (ValueId id : node.outputs) result.outputs.push_back(graph.value(id).spec);
    return result;
}

bool prefers_layouts(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(),
                               [](auto& node) { return node.op->layouts && node.op->layouts->is_preferred; });
}

NodeProblem::NodeProblem(const OpInfo& op, std::shared_ptr<const void> params, Operands operands, int threads,
                         Precision precision)
    : op_(op),
      params_(std::move(params)),
      operands_(std::move(operands)),
      threads_(threads),
      precision_(precision) {
    if (has_layout(operands_.inputs))
        if (auto form = physical_form(op, params_, operands_.inputs, operands_.outputs)) {
            params_ = form->params;
            operands_.inputs = std::move(form->inputs);
            operands_.outputs = std::move(form->outputs);
        }
    auto& constants = operands_.constants;
    for (size_t i = 0; i < constants.size(); ++i) {
        if (i >= Problem::constant_bits) constants[i] = nullptr;
        if (constants[i]) constant_mask_ |= 1u << i;
    }
}

Problem NodeProblem::problem() const {
    Problem problem = make_problem(op_, params_.get(), operands_.inputs, operands_.outputs);
    problem.constant_inputs = constant_mask_;
    problem.device = operands_.device;
    problem.threads = threads_;
    problem.precision = precision_;
    problem.output_device = operands_.output_device;
    return problem;
}

KernelList NodeProblem::kernels() const { return find_kernels(op_, operands_.device); }

Choice NodeProblem::choose(const SelectOptions& options) const {
    return select(kernels(), problem(), operands_.constants, options);
}

std::optional<Cost> NodeProblem::find_cost(const SelectOptions& options) const {
    return mge::find_cost(kernels(), problem(), operands_.constants, options);
}

std::optional<size_t> NodeProblem::find_heuristic_workspace(const SelectOptions& options) const {
    return mge::find_heuristic_workspace(kernels(), problem(), options);
}

bool NodeProblem::is_accepted(const NamedCandidate& named, const SelectOptions& options) const {
    auto& attributes = named.candidate.attributes;
    if (attributes.naive || (options.reproducible && !attributes.reproducible)) return false;
    // The workspace is known only after prepare().
    return options.workspace_limit == SIZE_MAX ||
           named.algorithm->prepare({problem(), named.candidate, operands_.constants}).workspace() <=
               options.workspace_limit;
}

bool NodeProblem::is_supported(const SelectOptions& options) const {
    auto accepts_one = [&](const auto& candidates) {
        return std::ranges::any_of(candidates, [&](auto& named) { return is_accepted(named, options); });
    };
    if (is_known_to_work(problem(), options)) return true;
    if (options.lookups) return accepts_one(options.lookups->of(problem()).listed(kernels(), problem()));
    return accepts_one(list_candidates(kernels(), problem()));
}

}  // namespace mge
