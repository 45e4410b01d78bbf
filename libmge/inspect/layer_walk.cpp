// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/layer_walk.h"

#include <sys/mman.h>

#include <algorithm>

#include "libmge/base/files/file.h"
#include "libmge/compile/memory/write_last.h"
#include "libmge/compile/program.h"
#include "libmge/compile/run/dynamic_step.h"
#include "libmge/device/device.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/place.h"
#include "libmge/kernel/launch.h"
#include "libmge/op/nothing_to_do.h"
#include "libmge/op/view_offsets.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// Weights of a mapped file come back from it when they are read again; other memory may be swapped out.
void drop_pages(const Tensor& constant) {
    std::span bytes{static_cast<const std::byte*>(constant.data()), constant.spec().bytes()};
    if (release_pages(bytes)) return;
    auto pages = whole_pages(bytes);
    if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_PAGEOUT);
}

}  // namespace

LayerWalk::LayerWalk(const Graph& graph, const CompileOptions& options, const Tensors& inputs)
    : options_(options) {
    graph_ = run_passes(infer_shapes(place(graph, options.device), specs_of(inputs)), pass_options(options));
    if (!options.no_force_inplace) write_last(graph_, options);
    schedule_ = schedule(graph_, shared_memory(options));
    values_.resize(graph_.values().size());
    last_reader_.assign(graph_.values().size(), -1);
    for (size_t i = 0; i < graph_.nodes().size(); ++i)
        for (ValueId id : graph_.node(NodeId(i)).inputs)
            if (id != no_value) last_reader_[size_t(id)] = NodeId(i);
    for (ValueId id : graph_.outputs()) last_reader_[size_t(id)] = NodeId(graph_.nodes().size());
    for (size_t i = 0; i < inputs.size(); ++i)
        values_[size_t(graph_.inputs()[i])] = to_device(inputs[i], graph_.value(graph_.inputs()[i]).device);
    for (size_t i = 0; i < graph_.values().size(); ++i)
        if (auto& value = graph_.value(ValueId(i)); value.is_constant()) {
            values_[i] = value.device.is_host() ? value.constant : to_device(value.constant, value.device);
            drop_pages(value.constant);
        }
    run_views_until(schedule_.steps.empty() ? NodeId(graph_.nodes().size()) : schedule_.steps[0].node);
}

void LayerWalk::run_next() {
    MGE_CHECK(done_ < step_count());
    release_values();
    auto& step_node = node(done_);
    Tensors inputs;
    for (ValueId id : step_node.inputs) inputs.push_back(id == no_value ? Tensor{} : value(id));
    Tensors outputs = run_step(done_, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) values_[size_t(step_node.outputs[i])] = std::move(outputs[i]);
    next_node_ = schedule_.steps[done_].node + 1;
    ++done_;
    run_views_until(done_ < step_count() ? schedule_.steps[done_].node : NodeId(graph_.nodes().size()));
}

// Nodes that are not steps only show memory, or a part of it, in another shape.
void LayerWalk::run_views_until(NodeId end) {
    for (; next_node_ < end; ++next_node_) {
        auto& view = graph_.node(next_node_);
        auto from = size_t(view.inputs[0]);
        for (ValueId to : view.outputs)
            values_[size_t(to)] = view_of(values_[from], graph_.value(to).spec,
                                          schedule_.offset_of[size_t(to)] - schedule_.offset_of[from]);
    }
}

void LayerWalk::release_values() {
    for (size_t id = 0; id < values_.size(); ++id)
        if (values_[id] && !graph_.value(ValueId(id)).is_constant() && last_reader_[id] < next_node_)
            values_[id] = {};
}

Tensors LayerWalk::run_alone(size_t step, const Tensors& inputs) { return run_step(step, inputs); }

namespace {

class InnerValueObserver final : public StepObserver {
public:
    explicit InnerValueObserver(InsideValues& inside) : inside_(inside) {}
    StepObserver* inside(const InnerRun& run, Context& inner) override { return inside_.at(run, inner); }

private:
    InsideValues& inside_;
};

}  // namespace

void LayerWalk::run_inside(size_t step, const Tensors& inputs, InsideValues& inside) {
    auto& held = node(step);
    Graph alone;
    alone.set_source_nodes(graph_.source_nodes());
    Tensors given;
    std::vector<ValueId> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
        operands.push_back(no_value);
        if (!inputs[i]) continue;
        auto& value = graph_.value(held.inputs[i]);
        if (value.is_constant()) {
            operands[i] = alone.add_constant(value.constant, value.name, value.device);
            continue;
        }
        operands[i] = alone.add_input(inputs[i].spec(), value.name, value.device);
        given.push_back(inputs[i]);
    }
    NodeId id = copy_node(graph_, held, alone, held.params, operands);
    alone.set_outputs(alone.node(id).outputs);
    CompileOptions options{.device = options_.device};
    options.level = 0;
    options.select = options_.select;
    options.threads = options_.threads;
    options.precision = options_.precision;
    options.keeps_weights = true;
    options.var_sanity_check_first_run = false;
    options.log_level = 0;
    auto context = Context::create(Program::compile(alone, options));
    context->fill_inputs(given);
    InnerValueObserver observer(inside);
    context->observe(&observer);
    context->run();
    context->wait();
}

Tensors LayerWalk::run_step(size_t step, const Tensors& inputs) {
    auto& step_node = node(step);
    Tensors outputs =
        schedule_.steps[step].is_dynamic ? compute_dynamic(step_node, inputs) : compute(step, inputs);
    for (size_t i = 0; i < step_node.inputs.size(); ++i)
        if (inputs[i] && graph_.value(step_node.inputs[i]).is_constant())
            drop_pages(graph_.value(step_node.inputs[i]).constant);
    return outputs;
}

Tensors LayerWalk::compute(size_t step, const Tensors& inputs) {
    auto& node = this->node(step);
    SelectOptions how = options_.select;
    if (step < options_.algorithms.size()) how.forced = options_.algorithms[step];
    bool packs = options_.switches.pack_weights.value_or(true);
    Choice choice = NodeProblem(*node.op, node.params, operands_of(graph_, node, packs), options_.threads,
                                options_.precision)
                        .choose(how);
    algorithm_ = choice.candidate.name;
    Tensors outputs;
    TensorSpecs specs;
    for (ValueId id : node.outputs) {
        specs.push_back(graph_.value(id).spec);
        outputs.push_back(empty_tensor(specs.back(), graph_.value(id).device));
    }
    if (has_nothing_to_do(*node.op, specs)) return outputs;
    launch(*choice.algorithm, choice.prepared, {queue_of(running_place(graph_, node)), options_.threads},
           inputs, outputs);
    return outputs;
}

Tensors LayerWalk::compute_dynamic(const Node& node, const Tensors& inputs) {
    algorithm_ = "chosen at run time";
    Tensors outputs(node.outputs.size());
    auto read = [&](ValueId id) {
        auto at = std::find(node.inputs.begin(), node.inputs.end(), id) - node.inputs.begin();
        return inputs[size_t(at)];
    };
    auto write = [&](ValueId id, Tensor value) {
        auto at = std::find(node.outputs.begin(), node.outputs.end(), id) - node.outputs.begin();
        if (size_t(at) < outputs.size()) outputs[size_t(at)] = std::move(value);
    };
    auto make = [](ValueId, const TensorSpec& spec, DeviceId device) { return empty_tensor(spec, device); };
    DynamicStep(graph_, node, options_, true, read, write, make).run(nullptr);
    return outputs;
}

}  // namespace mge
