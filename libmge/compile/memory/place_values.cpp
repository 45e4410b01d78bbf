// SPDX-License-Identifier: Apache-2.0
// Compilation stages that assign memory to values.

#include "libmge/base/log.h"
#include "libmge/compile/bind_algorithms.h"
#include "libmge/compile/compilation.h"

namespace mge {
namespace {

// Without sharing, everything is alive all the time.
void keep_all_alive(std::vector<MemoryBlock>& blocks, size_t steps) {
    for (auto& block : blocks) {
        block.first = 0;
        block.last = int(steps);
    }
}

size_t total_bytes(std::span<const MemoryPlan> plans) {
    size_t bytes = 0;
    for (auto& plan : plans) bytes += plan.bytes;
    return bytes;
}

ArenaBlocks blocks_of(const Compilation& c) {
    auto& schedule = c.order.schedule;
    std::vector<size_t> workspaces;
    for (auto& choice : c.binding.choices)
        workspaces.push_back(choice.algorithm ? choice.prepared.workspace() : 0);
    auto blocks = arena_blocks(schedule, workspaces);
    for (size_t i = 0; i < schedule.buffers.size(); ++i)
        if (int block = blocks.buffer_block[i]; block >= 0)
            blocks.blocks[size_t(block)].place = index_of(schedule.buffers[i].device, c.places);
    for (size_t i = 0; i < schedule.steps.size(); ++i)
        if (int block = blocks.workspace_block[i]; block >= 0)
            blocks.blocks[size_t(block)].place = index_of(schedule.steps[i].device, c.places);
    return blocks;
}

// Returns a plan per place, with as much slack for copies as is free, or almost free if memory is not short.
std::vector<MemoryPlan> plan_lifetimes(const Compilation& c, const ArenaBlocks& blocks) {
    auto plans = plan_places(blocks.blocks, c.places.size());
    if (!c.order.has_overlapped_copies) return plans;
    auto& schedule = c.order.schedule;
    std::vector<int> block_of;
    for (int buffer : schedule.buffer_of)
        block_of.push_back(buffer < 0 ? -1 : blocks.buffer_block[size_t(buffer)]);
    auto& o = c.options;
    bool is_short = o.enable_memory_swap || o.recompute.lowers_peak || o.recompute.keeps_budget;
    size_t least = total_bytes(plans), spare = is_short ? 0 : least / 16;
    for (int steps : {int(schedule.steps.size()), 16, 4, 1}) {
        auto with_slack =
            plan_places(with_slack_for_copies(blocks.blocks, c.graph, schedule, block_of, {steps, spare}),
                        c.places.size());
        if (total_bytes(with_slack) <= least + spare) return with_slack;
    }
    return plans;
}

// Returns, by block, its location in the arena of its place.
std::vector<Location> plan_arenas(Compilation& c, const ArenaBlocks& blocks) {
    auto plans = plan_lifetimes(c, blocks);
    for (size_t i = 0; i < plans.size(); ++i) {
        c.placement.arena_bytes[i] = plans[i].bytes;
        c.reports.memory.plan += plans[i].bytes;
        c.reports.memory.plan_lower_bound += plans[i].lower_bound;
    }
    std::vector<size_t> next(plans.size());
    std::vector<Location> locations;
    for (auto& block : blocks.blocks)
        locations.push_back(
            {Location::Kind::arena, plans[block.place].offsets[next[block.place]++], nullptr, block.place});
    return locations;
}

// Returns the location of each block, with or without a plan.
std::vector<Location> place_blocks(Compilation& c, ArenaBlocks& blocks) {
    c.placement.arena_bytes.resize(c.places.size());
    if (!c.options.force_dynamic_alloc) {
        if (!c.options.plan.reuse) keep_all_alive(blocks.blocks, c.order.schedule.steps.size());
        return plan_arenas(c, blocks);
    }
    std::vector<Location> locations;
    for (size_t i = 0; i < blocks.blocks.size(); ++i) locations.push_back({Location::Kind::block, i});
    c.placement.blocks = blocks.blocks;
    return locations;
}

Location place_buffer(Compilation& c, const Buffer& buffer, const Location& in_plan) {
    auto& placement = c.placement;
    switch (buffer.kind) {
        case Buffer::Kind::arena:
            return in_plan;
        case Buffer::Kind::input:
            placement.inputs[size_t(buffer.port)] = {buffer.bytes, index_of(buffer.device, c.places)};
            return {Location::Kind::input, size_t(buffer.port)};
        case Buffer::Kind::output:
            placement.outputs.push_back({buffer.bytes, index_of(buffer.device, c.places)});
            placement.output_steps.push_back(buffer.first);
            return {Location::Kind::output, placement.outputs.size() - 1};
        case Buffer::Kind::constant:
            break;
    }
    // nullptr after release: the steps read packed copies.
    auto& constant = c.graph.value(buffer.constant).constant;
    return {Location::Kind::constant, 0, constant ? constant.address() : nullptr};
}

Location value_location(const Schedule& schedule, size_t id, std::span<const Location> buffers) {
    if (schedule.is_dynamic[id]) return {Location::Kind::dynamic, id};
    int buffer = schedule.buffer_of[id];
    if (buffer < 0) return {};
    Location location = buffers[size_t(buffer)];
    location.offset = schedule.offset_of[id];
    return location;
}

}  // namespace

Location MemoryLayout::locate(ValueId id) const {
    if (id == no_value) return {};
    const Location& location = values[size_t(id)];
    MGE_CHECK(location.kind != Location::Kind::absent, "value ", id, " has no place");
    return location;
}

namespace stage {

void place_values(Compilation& c) {
    auto& schedule = c.order.schedule;
    auto& placement = c.placement;
    auto& memory = c.reports.memory;
    ArenaBlocks blocks = blocks_of(c);
    auto locations = place_blocks(c, blocks);
    auto location_of = [&](int block) { return block < 0 ? Location{} : locations[size_t(block)]; };
    placement.inputs.resize(c.graph.inputs().size());
    std::vector<Location> buffers;
    for (size_t i = 0; i < schedule.buffers.size(); ++i)
        buffers.push_back(place_buffer(c, schedule.buffers[i], location_of(blocks.buffer_block[i])));
    for (size_t id = 0; id < schedule.buffer_of.size(); ++id)
        placement.values.push_back(value_location(schedule, id, buffers));
    for (int block : blocks.workspace_block) placement.workspaces.push_back(location_of(block));
    for (auto* ports : {&placement.inputs, &placement.outputs})
        for (auto& port : *ports) memory.inputs_outputs += port.bytes;
    if (c.options.log_level > 0 && log_enabled(LogChannel::memory))
        log_line(LogChannel::memory, text("plan ", memory.plan, " bytes for ", blocks.blocks.size(),
                                          " blocks, lower bound ", memory.plan_lower_bound));
}

// Applies if steps run in order, on the host or on one queue, and inputs have no later readers.
void find_taken_inputs(Compilation& c) {
    if (c.places.size() != 1 || c.order.has_overlapped_copies || c.check || c.options.force_dynamic_alloc)
        return;
    for (auto& [output, port] : c.order.schedule.takeovers)
        c.placement.taken_inputs.push_back({c.placement.locate(output).at, size_t(port)});
}

}  // namespace stage
}  // namespace mge
