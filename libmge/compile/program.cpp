// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/program.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "libmge/base/log.h"
#include "libmge/compile/bind_algorithms.h"
#include "libmge/compile/compiled_program.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/kernel/fastrun_cache.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

PortInfo port_of(const Graph& graph, ValueId id, std::string_view kind, size_t index) {
    auto& value = graph.value(id);
    return {value.name.empty() ? text(kind, '_', index) : value.name, value.spec};
}

}  // namespace

PassOptions pass_options(const CompileOptions& options) {
    PassOptions result{.passes = options.passes,
                       .level = std::abs(options.level),
                       .own_passes = options.own_passes,
                       .graph_opt = options.graph_opt,
                       .verify = options.verify_passes,
                       .layout = options.layout,
                       .select = options.select,
                       .threads = options.threads,
                       .precision = options.precision};
    if (options.measure_layouts) {
        result.select.profile = true;
        result.select.heuristic = false;
    }
    return result;
}

namespace {

// Nothing shares memory: everything is alive all the time.
void keep_all_alive(std::vector<MemoryBlock>& blocks, size_t steps) {
    for (auto& block : blocks) {
        block.first = 0;
        block.last = int(steps);
    }
}

SourceNode describe(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    std::string name = node.name.empty() ? graph.value(node.outputs.at(0)).name : node.name;
    return {id, std::string(node.op->name), std::move(name)};
}

ValueReport::Place place_of(Buffer::Kind kind) {
    switch (kind) {
        case Buffer::Kind::arena:
            return ValueReport::Place::arena;
        case Buffer::Kind::input:
            return ValueReport::Place::input;
        case Buffer::Kind::output:
            return ValueReport::Place::output;
        case Buffer::Kind::constant:
            return ValueReport::Place::constant;
    }
    return ValueReport::Place::none;
}

}  // namespace

std::string_view name_of(ValueReport::Place place) {
    constexpr std::array names{"none", "arena", "input", "output", "constant", "dynamic"};
    return names.at(size_t(place));
}

std::shared_ptr<const Program> Program::compile(const Graph& graph, const CompileOptions& options) {
    check(options);
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

CompiledProgram::~CompiledProgram() = default;

const std::vector<ReplacedValue>& CompiledProgram::replaced() const {
    static const std::vector<ReplacedValue> none;
    return check_ ? check_->replaced() : none;
}

CompiledProgram::CompiledProgram(Graph graph, const CompileOptions& options) : options_(options) {
    std::set<const void*> weights;
    for (auto& value : graph.values())
        if (value.is_constant() && weights.insert(value.constant.data()).second)
            memory_.weights += value.spec.bytes();
    for (size_t i = 0; i < graph.inputs().size(); ++i)
        inputs_.push_back(port_of(graph, graph.inputs()[i], "input", i));
    for (size_t i = 0; i < graph.outputs().size(); ++i)
        outputs_.push_back(port_of(graph, graph.outputs()[i], "output", i));
    // Equal problems are measured once, also when the caller keeps no cache.
    std::unique_ptr<FastrunCache> own_cache;
    if ((options_.select.profile || options_.measure_layouts) && !options_.select.cache) {
        own_cache = FastrunCache::in_memory();
        options_.select.cache = own_cache.get();
    }
    std::vector<SourceNode> sources;
    for (size_t i = 0; i < graph.nodes().size(); ++i) sources.push_back(describe(graph, NodeId(i)));
    if (options_.level < 0) {
        std::vector<PassStage> stages;
        graph_ = run_passes(graph, pass_options(options_), &stages);
        check_ = std::make_unique<ReplacementCheck>(std::move(graph), std::move(stages), options_);
    } else {
        graph_ = run_passes(std::move(graph), pass_options(options_));
    }
    options_.own_passes.clear();
    for (auto& value : graph_.values())
        if (value.is_constant() && weights.insert(value.constant.data()).second)
            memory_.made_weights += value.spec.bytes();
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].value = graph_.inputs()[i];
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].value = graph_.outputs()[i];
    schedule_ = schedule(graph_, options_.seq_opt.enable_mem_plan_opt);
    check_recording();
    auto choices = bind_algorithms(graph_, schedule_, options_);
    place_buffers(choices);
    make_steps(std::move(choices));
    make_step_reports(sources);
    make_value_reports();
    // Neither outlives the compilation: the cache belongs to the caller.
    options_.select.cache = nullptr;
    options_.select.profile = false;
    if (options_.comp_node_seq_record_level == 2) graph_.forget_nodes();
}

void CompiledProgram::check_recording() {
    if (!options_.comp_node_seq_record_level) return;
    auto it = std::ranges::find_if(schedule_.steps, &Step::is_dynamic);
    if (it == schedule_.steps.end()) return;
    std::string what = text("'", graph_.node(it->node).op->name, "' finds out its shape at run time");
    if (options_.comp_node_seq_record_level == 2)
        throw_user("comp_node_seq_record_level", text("2 needs fixed shapes, but ", what), ErrorClass::value);
    log_warning(text("comp_node_seq_record_level: nothing is recorded, as ", what));
}

void CompiledProgram::place_buffers(const std::vector<Choice>& choices) {
    auto blocks = arena_blocks(schedule_, choices);
    if (!options_.seq_opt.enable_mem_reuse_alloc) keep_all_alive(blocks.blocks, schedule_.steps.size());
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

void CompiledProgram::make_step_reports(const std::vector<SourceNode>& sources) {
    for (auto& step : steps_) {
        auto& node = graph_.node(step.node);
        auto [id, op, name] = describe(graph_, step.node);
        StepReport report{std::move(op), std::move(name), "chosen at run time"};
        for (NodeId source : node.sources) report.sources.push_back(sources.at(size_t(source)));
        report.inputs = node.inputs;
        report.outputs = node.outputs;
        report.footprint = footprint(graph_, node);
        if (step.choice.algorithm) {
            report.algorithm = step.choice.candidate.name;
            report.source = step.choice.source;
            report.milliseconds = step.choice.milliseconds;
            report.workspace = step.choice.prepared.workspace();
            report.problem = step.choice.problem;
            report.workspace_offset = step.workspace.at;
            memory_.packed_weights += step.choice.prepared.packed_bytes();
        }
        reports_.push_back(std::move(report));
    }
}

void CompiledProgram::make_value_reports() {
    for (size_t id = 0; id < graph_.values().size(); ++id) {
        auto& value = graph_.value(ValueId(id));
        ValueReport report{value.name, value.spec};
        int buffer = schedule_.buffer_of[id];
        if (schedule_.is_dynamic[id]) {
            report.place = ValueReport::Place::dynamic;
        } else if (buffer >= 0) {
            auto& memory = schedule_.buffers[size_t(buffer)];
            report.place = place_of(memory.kind);
            report.offset = buffer_locations_[size_t(buffer)].at;
            report.bytes = memory.bytes;
            if (memory.kind != Buffer::Kind::constant) {
                report.first = memory.first;
                report.last = memory.last;
            }
        }
        values_.push_back(std::move(report));
    }
    for (auto& node : graph_.nodes())
        if (node.op->traits.view && !schedule_.is_dynamic[size_t(node.outputs[0])])
            values_[size_t(node.outputs[0])].view_of = node.inputs[0];
}

}  // namespace mge
