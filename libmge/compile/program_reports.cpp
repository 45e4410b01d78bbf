// SPDX-License-Identifier: Apache-2.0
// What a program tells about its steps and values.

#include <algorithm>
#include <array>

#include "libmge/compile/compiled_program.h"
#include "libmge/graph/footprint.h"
#include "libmge/graph/origins.h"

namespace mge {
namespace {

DType compute_dtype(const Graph& graph, const Node& node) {
    for (auto* ids : {&node.inputs, &node.outputs})
        for (ValueId id : *ids) {
            if (id == no_value) continue;
            DType dtype = graph.value(id).spec.dtype;
            if (is_float(dtype)) return dtype == DType::f64 ? dtype : DType::f32;
        }
    return graph.value(node.outputs.at(0)).spec.dtype;
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

std::string operator_text(const StepReport& step) { return operator_text(step.op, step.name); }

std::vector<int> ready_steps(const Program& program) {
    std::vector<int> steps(program.values().size(), -1);
    for (size_t i = 0; i < program.steps().size(); ++i)
        for (ValueId id : program.steps()[i].outputs) steps[size_t(id)] = int(i);
    for (size_t i = 0; i < steps.size(); ++i) {
        auto root = ValueId(i);
        while (program.values()[size_t(root)].view_of != no_value)
            root = program.values()[size_t(root)].view_of;
        steps[i] = steps[size_t(root)];
    }
    return steps;
}

void CompiledProgram::make_step_reports() {
    for (auto& step : steps_) {
        auto& node = graph_.node(step.node);
        StepReport report{std::string(node.op->name), node_label(graph_, node), "chosen at run time"};
        for (NodeId origin : node.origins)
            report.sources.push_back(graph_.source_nodes()->at(size_t(origin)));
        report.device = places_[step.place];
        if (!threads_.empty()) report.thread = threads_[reports_.size()].owner;
        report.inputs = node.inputs;
        report.outputs = node.outputs;
        report.is_repeated = std::ranges::binary_search(repeated_, step.node);
        report.footprint = footprint(graph_, node);
        report.compute = compute_dtype(graph_, node);
        if (step.choice.algorithm) {
            report.algorithm = step.choice.candidate.name;
            report.source = step.choice.source;
            report.milliseconds = step.choice.milliseconds;
            report.is_doubtful = step.choice.is_doubtful;
            report.workspace = step.choice.prepared.workspace();
            report.problem = step.choice.problem;
            if (step.workspace.kind == Location::Kind::arena) report.workspace_offset = step.workspace.at;
        }
        reports_.push_back(std::move(report));
    }
}

void CompiledProgram::make_value_reports() {
    for (size_t id = 0; id < graph_.values().size(); ++id) {
        auto& value = graph_.value(ValueId(id));
        ValueReport report{value.name, other_labels(graph_, ValueId(id)), value.origins, value.spec,
                           value.device};
        report.view_of = schedule_.view_of[id];
        if (value.producer >= 0) report.name = value_label(graph_, ValueId(id));
        int buffer = schedule_.buffer_of[id];
        if (schedule_.is_dynamic[id]) {
            report.place = ValueReport::Place::dynamic;
        } else if (buffer >= 0) {
            auto& memory = schedule_.buffers[size_t(buffer)];
            auto& location = buffer_locations_[size_t(buffer)];
            bool is_block = location.kind == Location::Kind::block;
            bool is_constant = memory.kind == Buffer::Kind::constant;
            report.place = is_block ? ValueReport::Place::dynamic : place_of(memory.kind);
            report.offset = is_block ? 0 : location.at;
            report.bytes = is_constant && is_released_[size_t(memory.constant)] ? 0 : memory.bytes;
            if (!is_block && !is_constant) {
                report.first = memory.first;
                report.last = memory.last;
            }
        }
        values_.push_back(std::move(report));
    }
}

}  // namespace mge
