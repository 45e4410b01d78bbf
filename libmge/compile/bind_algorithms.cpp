// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/bind_algorithms.h"

#include <algorithm>

#include "libmge/kernel/fastrun_cache.h"
#include "libmge/op/backend.h"

namespace mge {
namespace {

constexpr size_t constant_bits = 32;  // of Problem::constant_inputs

Choice bind(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    TensorSpecs inputs, outputs;
    std::vector<const void*> constants;
    uint32_t constant_mask = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        ValueId id = node.inputs[i];
        inputs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
        bool constant = id != no_value && graph.value(id).is_constant() && i < constant_bits;
        if (constant) constant_mask |= 1u << i;
        constants.push_back(constant ? graph.value(id).constant.data() : nullptr);
    }
    for (ValueId id : node.outputs) outputs.push_back(graph.value(id).spec);
    DeviceId device = default_device();
    Problem problem{node.op->name, node.params.get(), node.op->fields,  inputs, outputs, constant_mask,
                    device,        options.threads,   options.precision};
    return select(find_kernels(*node.op, device), problem, constants, how);
}

// What is left for a step's workspace when the arena may not grow beyond `limit`.
std::vector<size_t> workspace_limits(const Schedule& schedule, const std::vector<Choice>& heuristic,
                                     double factor) {
    auto all = arena_blocks(schedule, heuristic);
    auto live = live_bytes(all.blocks);
    live.resize(schedule.steps.size());
    size_t bound = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    auto allowed = size_t(double(bound) * factor);
    std::vector<size_t> limits;
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
        size_t without = live[i] - align_up(heuristic[i].prepared.workspace());
        limits.push_back(allowed > without ? (allowed - without) / arena_alignment * arena_alignment : 0);
    }
    return limits;
}

}  // namespace

std::vector<Choice> bind_algorithms(const Graph& graph, const Schedule& schedule,
                                    const CompileOptions& options) {
    auto bind_all = [&](auto&& options_of) {
        std::vector<Choice> choices;
        for (size_t i = 0; i < schedule.steps.size(); ++i) {
            auto& step = schedule.steps[i];
            choices.push_back(step.is_dynamic ? Choice{}
                                              : bind(graph, graph.node(step.node), options, options_of(i)));
        }
        return choices;
    };
    SelectOptions how = options.select;
    if (!how.profile) return bind_all([&](size_t) { return how; });

    // Equal problems are measured once even when the caller keeps no cache.
    std::unique_ptr<FastrunCache> own_cache;
    if (!how.cache) {
        own_cache = FastrunCache::in_memory();
        how.cache = own_cache.get();
    }
    SelectOptions heuristic = how;
    heuristic.profile = false;
    auto limits =
        workspace_limits(schedule, bind_all([&](size_t) { return heuristic; }), options.workspace_factor);
    return bind_all([&](size_t i) {
        SelectOptions limited = how;
        limited.workspace_limit = std::min(how.workspace_limit, limits[i]);
        return limited;
    });
}

ArenaBlocks arena_blocks(const Schedule& schedule, const std::vector<Choice>& choices) {
    ArenaBlocks result;
    for (auto& buffer : schedule.buffers) {
        bool in_arena = buffer.kind == Buffer::Kind::arena;
        result.buffer_block.push_back(in_arena ? int(result.blocks.size()) : -1);
        if (in_arena) result.blocks.push_back({buffer.bytes, buffer.first, buffer.last});
    }
    for (size_t i = 0; i < choices.size(); ++i) {
        size_t bytes = choices[i].algorithm ? choices[i].prepared.workspace() : 0;
        result.workspace_block.push_back(bytes ? int(result.blocks.size()) : -1);
        if (bytes) result.blocks.push_back({bytes, int(i), int(i)});
    }
    return result;
}

}  // namespace mge
