// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/bind_algorithms.h"

#include <algorithm>

#include "libmge/passes/node_problem.h"

namespace mge {
namespace {

std::string label_of(const Graph& graph, const Node& node) {
    std::string name = node.name.empty() ? graph.value(node.outputs.at(0)).name : node.name;
    return text(node.op->name, name.empty() ? "" : " '" + name + "'");
}

Choice bind(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    try {
        bool packs = options.graph_opt.weight_preprocess.value_or(true);
        return NodeProblem(*node.op, node.params, operands_of(graph, node, packs), options.threads,
                           options.precision)
            .choose(how);
    } catch (const MemoryError& e) {
        throw MemoryError(text(label_of(graph, node), ": ", e.what()));
    }
}

// Exactly the named algorithms; a step without a name chooses by itself.
std::vector<Choice> bind_named(const Graph& graph, const Schedule& schedule, const CompileOptions& options) {
    if (options.algorithms.size() != schedule.steps.size())
        throw DeviceError(text("algorithms for ", options.algorithms.size(),
                               " steps are given, the program here has ", schedule.steps.size()));
    std::vector<Choice> choices;
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
        auto& node = graph.node(schedule.steps[i].node);
        SelectOptions how = options.select;
        how.forced = options.algorithms[i];
        try {
            choices.push_back(schedule.steps[i].is_dynamic ? Choice{} : bind(graph, node, options, how));
        } catch (const MemoryError&) {
            throw;
        } catch (const DeviceError& e) {
            throw DeviceError(text("step ", i, " (", label_of(graph, node), "): ", e.what()));
        }
    }
    return choices;
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
    if (!options.algorithms.empty()) return bind_named(graph, schedule, options);
    SelectOptions how = options.select;
    if (!how.profile) return bind_all([&](size_t) { return how; });

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
