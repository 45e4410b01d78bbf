// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/program.h"

#include "libmge/base/log.h"
#include "libmge/compile/bind_algorithms.h"
#include "libmge/compile/compiled_program.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

PortInfo port_of(const Graph& graph, ValueId id, std::string_view kind, size_t index) {
    auto& value = graph.value(id);
    return {value.name.empty() ? text(kind, '_', index) : value.name, value.spec};
}

PassOptions pass_options(const CompileOptions& options) {
    return {.passes = options.passes,
            .level = options.level,
            .verify = options.verify_passes,
            .layout = options.layout,
            .select = options.select,
            .threads = options.threads,
            .precision = options.precision};
}

}  // namespace

std::shared_ptr<const Program> Program::compile(const Graph& graph, const CompileOptions& options) {
    TensorSpecs specs;
    for (ValueId id : graph.inputs()) {
        auto& value = graph.value(id);
        if (!value.spec.shape.is_known())
            throw_user("compile", text("the shape of input '", value.name, "' is not known"),
                       ErrorClass::value);
        specs.push_back(value.spec);
    }
    return std::make_shared<CompiledProgram>(infer_shapes(graph, specs), options);
}

CompiledProgram::CompiledProgram(Graph graph, const CompileOptions& options) : options_(options) {
    for (auto& value : graph.values())
        if (value.is_constant()) memory_.weights += value.spec.bytes();
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        inputs_.push_back(port_of(graph, graph.inputs()[i], "input", i));
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        outputs_.push_back(port_of(graph, graph.outputs()[i], "output", i));
    // Equal problems are measured once, also when the caller keeps no cache.
    std::unique_ptr<FastrunCache> own_cache;
    if (options_.select.profile && !options_.select.cache) {
        own_cache = FastrunCache::in_memory();
        options_.select.cache = own_cache.get();
    }
    graph_ = run_passes(std::move(graph), pass_options(options_));
    schedule_ = schedule(graph_);
    auto choices = bind_algorithms(graph_, schedule_, options_);
    place_buffers(choices);
    make_steps(std::move(choices));
    make_reports();
    // Neither outlives the compilation: the cache belongs to the caller.
    options_.select.cache = nullptr;
    options_.select.profile = false;
}

void CompiledProgram::place_buffers(const std::vector<Choice>& choices) {
    auto blocks = arena_blocks(schedule_, choices);
    MemoryPlan plan = plan_memory(blocks.blocks);
    input_bytes_.resize(graph_.inputs().size());
    for (size_t i = 0; i < schedule_.buffers.size(); ++i) {
        auto& buffer = schedule_.buffers[i];
        Location location;
        switch (buffer.kind) {
            case Buffer::Kind::arena:
                location = {Location::Kind::arena, plan.offsets[size_t(blocks.buffer_block[i])]};
                break;
            case Buffer::Kind::input:
                location = {Location::Kind::input, size_t(buffer.port)};
                input_bytes_[size_t(buffer.port)] = buffer.bytes;
                break;
            case Buffer::Kind::output:
                location = {Location::Kind::output, output_bytes_.size()};
                output_bytes_.push_back(buffer.bytes);
                break;
            case Buffer::Kind::constant:
                location = {Location::Kind::constant, 0, graph_.value(buffer.constant).constant.data()};
                break;
        }
        buffer_locations_.push_back(location);
    }
    for (int block : blocks.workspace_block)
        workspace_locations_.push_back(
            block < 0 ? Location{} : Location{Location::Kind::arena, plan.offsets[size_t(block)]});
    memory_.plan = plan.bytes;
    memory_.plan_lower_bound = plan.lower_bound;
    for (size_t bytes : input_bytes_) memory_.inputs_outputs += bytes;
    for (size_t bytes : output_bytes_) memory_.inputs_outputs += bytes;
    if (log_enabled(LogChannel::memory))
        log_line(LogChannel::memory, text("plan ", plan.bytes, " bytes for ", blocks.blocks.size(),
                                          " blocks, lower bound ", plan.lower_bound));
}

Location CompiledProgram::locate(ValueId id) const {
    if (id == no_value) return {};
    if (schedule_.is_dynamic[size_t(id)]) return {Location::Kind::dynamic, size_t(id)};
    int buffer = schedule_.buffer_of[size_t(id)];
    MGE_CHECK(buffer >= 0, "value ", id, " has no place");
    return buffer_locations_[size_t(buffer)];
}

void CompiledProgram::make_steps(std::vector<Choice> choices) {
    for (size_t i = 0; i < schedule_.steps.size(); ++i) {
        auto& node = graph_.node(schedule_.steps[i].node);
        CompiledStep step{
            schedule_.steps[i].node, schedule_.steps[i].is_dynamic, std::move(choices[i]), {}, {},
            workspace_locations_[i]};
        for (ValueId id : node.inputs) step.inputs.push_back(locate(id));
        for (ValueId id : node.outputs) step.outputs.push_back(locate(id));
        steps_.push_back(std::move(step));
    }
}

void CompiledProgram::make_reports() {
    for (auto& step : steps_) {
        auto& node = graph_.node(step.node);
        std::string name = node.name;
        if (name.empty()) name = graph_.value(node.outputs.at(0)).name;
        StepReport report{std::string(node.op->name), std::move(name), "chosen at run time"};
        if (step.choice.algorithm) {
            report.algorithm = step.choice.candidate.name;
            report.source = step.choice.source;
            report.milliseconds = step.choice.milliseconds;
            report.workspace = step.choice.prepared.workspace();
            memory_.packed_weights += step.choice.prepared.packed_bytes();
        }
        reports_.push_back(std::move(report));
    }
}

}  // namespace mge
