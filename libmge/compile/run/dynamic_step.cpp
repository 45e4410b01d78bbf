// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/dynamic_step.h"

#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/compile/surrounding.h"
#include "libmge/device/device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/kernel/launch.h"
#include "libmge/op/backend.h"
#include "libmge/op/nothing_to_do.h"
#include "libmge/op/view_offsets.h"

namespace mge {
namespace {

bool matches(const TensorSpecs& specs, std::span<const Tensor> tensors) {
    if (specs.size() != tensors.size()) return false;
    for (size_t i = 0; i < specs.size(); ++i)
        if (tensors[i] ? !(specs[i] == tensors[i].spec()) : !specs[i].is_absent()) return false;
    return true;
}

}  // namespace

DynamicStep::DynamicStep(const Graph& graph, const Node& node, const CompileOptions& options, bool may_view,
                         std::function<Tensor(ValueId)> read, std::function<void(ValueId, Tensor)> write,
                         std::function<Tensor(ValueId, const TensorSpec&, DeviceId)> make)
    : graph_(graph),
      node_(node),
      options_(options),
      may_view_(may_view),
      device_(running_place(graph, node)),
      output_device_(graph.place(node)),
      read_(std::move(read)),
      write_(std::move(write)),
      make_(std::move(make)) {
    plans_.reserve(kept_plans);
}

void DynamicStep::run(const ProgramRun* run) {
    Tensors inputs;
    for (ValueId id : node_.inputs) inputs.push_back(id == no_value ? Tensor{} : read_(id));
    auto params = node_.params;
    if (node_.op->resolve) {
        size_t plain = node_.op->plain_inputs(inputs.size());
        if (plain < inputs.size()) params = node_.op->resolve(params.get(), std::span(inputs).subspan(plain));
        inputs.resize(plain);
    }
    Plan& plan = find_plan(std::move(params), inputs);
    outputs_.assign(plan.outputs.size(), Tensor{});
    if (!plan.view_offsets.empty()) {
        for (size_t i = 0; i < outputs_.size(); ++i)
            outputs_[i] = view_of(inputs[0], plan.outputs[i], plan.view_offsets[i]);
    } else {
        for (size_t i = 0; i < outputs_.size(); ++i)
            if (plan.outputs[i].shape.is_known())
                outputs_[i] = make_(node_.outputs[i], plan.outputs[i], output_device_);
        bool finds_shapes = node_.op->traits.runtime_shape || node_.op->traits.control;
        launch(*plan.choice.algorithm, plan.choice.prepared,
               {queue_of(device_), options_.threads, finds_shapes ? this : nullptr, nullptr, run}, inputs,
               outputs_);
    }
    for (size_t i = 0; i < outputs_.size(); ++i) write_(node_.outputs[i], std::move(outputs_[i]));
    outputs_.clear();
    for (ValueId id : released_) write_(id, {});
}

void* DynamicStep::allocate(size_t output, const TensorSpec& spec) {
    outputs_.at(output) = make_(node_.outputs[output], spec, output_device_);
    return outputs_[output].address();
}

DynamicStep::Plan& DynamicStep::find_plan(std::shared_ptr<const void> params,
                                          std::span<const Tensor> inputs) {
    for (auto& plan : plans_)
        if (node_.op->params.equal(plan.params.get(), params.get()) && matches(plan.inputs, inputs))
            return plan;
    Plan plan = make_plan(std::move(params), inputs);
    if (plans_.size() < kept_plans) return plans_.emplace_back(std::move(plan));
    Plan& slot = plans_[oldest_++ % kept_plans];
    slot = std::move(plan);
    return slot;
}

DynamicStep::Plan DynamicStep::make_plan(std::shared_ptr<const void> params,
                                         std::span<const Tensor> inputs) const {
    Plan plan{std::move(params), {}, {}, {}, {}};
    for (auto& input : inputs) plan.inputs.push_back(input ? input.spec() : TensorSpec{});
    plan.outputs = node_.op->infer(plan.params.get(), plan.inputs);
    check_outputs(plan.outputs);
    for (auto& spec : plan.outputs)
        if (spec.shape.is_known()) checked_numel(node_.op->name, spec.shape);
    if (may_view_ && !plan.inputs.empty())
        plan.view_offsets = view_offsets(*node_.op, plan.params.get(), plan.inputs[0], plan.outputs);
    if (!plan.view_offsets.empty()) return plan;
    Problem problem = make_problem(*node_.op, plan.params.get(), plan.inputs, plan.outputs);
    problem.device = device_;
    problem.threads = options_.threads;
    problem.precision = options_.precision;
    problem.output_device = output_device_;
    SurroundingProgram around{&options_, std::numeric_limits<int64_t>::max()};
    SelectOptions how = options_.select;
    how.around = &around;
    plan.choice = select(find_kernels(*node_.op, device_), problem, {}, how);
    if (has_nothing_to_do(*node_.op, plan.outputs)) leave_undone(plan.choice);
    return plan;
}

void DynamicStep::check_outputs(const TensorSpecs& inferred) const {
    auto fail = [&](const std::string& what) {
        throw ModelError(text("[", node_.op->name, "] '", node_.name, "': ", what));
    };
    if (inferred.size() != node_.outputs.size())
        fail(text("the model says that it has ", counted(node_.outputs.size(), "output"),
                  ", the operator gives ", inferred.size()));
    for (size_t i = 0; i < inferred.size(); ++i)
        if (auto& declared = graph_.value(node_.outputs[i]).spec; declared.dtype != inferred[i].dtype)
            fail(text("output ", i, " is declared as ", declared, ", but it is ", inferred[i].dtype));
}

}  // namespace mge
