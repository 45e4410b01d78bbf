// SPDX-License-Identifier: Apache-2.0
// Compilation stages that describe the result.

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/memory/release_constants.h"
#include "libmge/compile/options/ignored_options.h"
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

// Memory of a step with its report, descriptions of its operands and unshared data: an average over the
// programs of seven networks.
constexpr size_t bytes_of_step = 8 << 10;

// Adds the programs of nested graphs.
void count_inside(Compilation& c) {
    for (auto& program : c.binding.inside) {
        auto& [kept, packed, code, steps] = program->parts().pieces;
        c.pieces.kept.insert(kept.begin(), kept.end());
        c.pieces.packed.insert(packed.begin(), packed.end());
        c.pieces.code.insert(code.begin(), code.end());
        c.pieces.steps += steps;
    }
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

namespace stage {

void count_constants(Compilation& c) {
    count_inside(c);
    auto& memory = c.reports.memory;
    auto& given = c.source.constants;
    for (size_t id = 0; id < c.graph.values().size(); ++id)
        if (auto& value = c.graph.value(ValueId(id)); value.is_constant() && !c.binding.is_released[id])
            c.pieces.kept.emplace(value.constant.address(), value.spec.bytes());
    std::set<const void*> kept;
    for (auto [address, bytes] : c.pieces.kept) {
        kept.insert(address);
        bool is_given = given.contains(address);
        (is_given ? memory.weights : memory.made_weights) += bytes;
        if (is_given && is_mapped(address)) memory.weights_in_file += bytes;
        if (!is_given) c.reports.made_constants.push_back({static_cast<const std::byte*>(address), bytes});
    }
    std::vector<std::span<const std::byte>> unread;
    for (auto [address, bytes] : given) {
        if (c.pieces.kept.contains(address)) continue;
        memory.released_weights += bytes;
        if (is_mapped(address)) unread.push_back({static_cast<const std::byte*>(address), bytes});
    }
    release_mapped(std::move(unread), kept);
}

void count_pieces(Compilation& c) {
    auto& memory = c.reports.memory;
    for (auto& step : c.steps) {
        if (!step.choice.algorithm) continue;
        auto& prepared = step.choice.prepared;
        for (auto [address, bytes] : prepared.packed().pieces) c.pieces.packed.emplace(address, bytes);
        for (auto [address, bytes] : prepared.code()) c.pieces.code.emplace(address, bytes);
    }
    for (auto [address, bytes] : c.pieces.packed) {
        memory.packed_weights += bytes;
        c.reports.made_constants.push_back({static_cast<const std::byte*>(address), bytes});
    }
    c.pieces.steps += c.steps.size();
    memory.program = bytes_of_step * c.pieces.steps;
    for (auto [address, bytes] : c.pieces.code) memory.program += bytes;
}

void report_steps(Compilation& c) {
    for (auto& step : c.steps) {
        auto& node = c.graph.node(step.node);
        StepReport report{std::string(node.op->name), node_label(c.graph, node), "chosen at run time"};
        for (NodeId origin : node.origins)
            report.sources.push_back(c.graph.source_nodes()->at(size_t(origin)));
        report.device = c.places[step.place];
        if (!c.enqueue_plan.threads.empty())
            report.thread = c.enqueue_plan.threads[c.reports.steps.size()].owner;
        report.inputs = node.inputs;
        report.outputs = node.outputs;
        report.is_repeated = std::ranges::binary_search(c.order.repeated, step.node);
        report.footprint = footprint(c.graph, node);
        report.compute = compute_dtype(c.graph, node);
        if (step.choice.algorithm) {
            report.algorithm = step.choice.candidate.name;
            report.source = step.choice.source;
            report.milliseconds = step.choice.milliseconds;
            report.is_doubtful = step.choice.is_doubtful;
            report.workspace = step.choice.prepared.workspace();
            report.problem = step.choice.problem;
            if (step.workspace.kind == Location::Kind::arena) report.workspace_offset = step.workspace.at;
        }
        c.reports.steps.push_back(std::move(report));
    }
}

void report_values(Compilation& c) {
    auto& schedule = c.order.schedule;
    for (size_t id = 0; id < c.graph.values().size(); ++id) {
        auto& value = c.graph.value(ValueId(id));
        ValueReport report{value.name, other_labels(c.graph, ValueId(id)), value.origins, value.spec,
                           value.device};
        report.view_of = schedule.view_of[id];
        if (value.producer >= 0) report.name = value_label(c.graph, ValueId(id));
        int buffer = schedule.buffer_of[id];
        if (schedule.is_dynamic[id]) {
            report.place = ValueReport::Place::dynamic;
        } else if (buffer >= 0) {
            auto& memory = schedule.buffers[size_t(buffer)];
            auto& location = c.placement.values[id];
            bool is_block = location.kind == Location::Kind::block;
            bool is_constant = memory.kind == Buffer::Kind::constant;
            report.place = is_block ? ValueReport::Place::dynamic : place_of(memory.kind);
            report.offset = is_block ? 0 : location.at;
            report.bytes = is_constant && c.binding.is_released[size_t(memory.constant)] ? 0 : memory.bytes;
            if (!is_block && !is_constant) {
                report.first = memory.first;
                report.last = memory.last;
            }
        }
        c.reports.values.push_back(std::move(report));
    }
}

void report_options(Compilation& c) {
    for (auto& option :
         find_ignored_options(c.options, c.graph, c.reports.steps, c.reports.memory.packed_weights))
        c.ignore(option.option, option.given, option.reason);
}

}  // namespace stage
}  // namespace mge
