// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/bind_algorithms.h"

#include <algorithm>

#include "libmge/base/log.h"
#include "libmge/graph/origins.h"
#include "libmge/passes/node_problem.h"

namespace mge {
namespace {

// The known algorithm of the same work; null when there is none.
const std::string* known_algorithm(const Node& node, const CompileOptions& options) {
    if (node.origins.empty()) return nullptr;
    for (auto& known : options.known_algorithms)
        if (known.op == node.op->name && known.sources == node.origins) return &known.algorithm;
    return nullptr;
}

Choice choose(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    bool packs = options.graph_opt.weight_preprocess.value_or(true);
    NodeProblem problem(*node.op, node.params, operands_of(graph, node, packs), options.threads,
                        options.precision);
    if (auto* known = known_algorithm(node, options); known && how.forced.empty()) {
        SelectOptions same = how;
        same.forced = *known;
        try {
            return problem.choose(same);
        } catch (const MemoryError&) {
            throw;
        } catch (const DeviceError&) {
            log_warning(text(operator_text(graph, node), ": '", *known,
                             "' cannot compute these shapes; another algorithm is taken unmeasured"));
        }
    }
    return problem.choose(how);
}

Choice bind(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    try {
        return choose(graph, node, options, how);
    } catch (const MemoryError& e) {
        throw MemoryError(text(operator_text(graph, node), ": ", e.what()));
    }
}

// Exactly the named algorithms; a step without a name chooses by itself.
std::vector<Choice> bind_named(const Graph& graph, const Schedule& schedule, const CompileOptions& options,
                               const Bound& bound) {
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
            bound(i, choices.back().prepared);
        } catch (const MemoryError&) {
            throw;
        } catch (const DeviceError& e) {
            throw DeviceError(text("step ", i, " (", operator_text(graph, node), "): ", e.what()));
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
                                    const CompileOptions& options, const Bound& bound) {
    auto bind_all = [&](auto&& options_of, bool is_final) {
        std::vector<Choice> choices;
        for (size_t i = 0; i < schedule.steps.size(); ++i) {
            auto& step = schedule.steps[i];
            choices.push_back(step.is_dynamic ? Choice{}
                                              : bind(graph, graph.node(step.node), options, options_of(i)));
            if (!is_final) continue;
            bound(i, choices.back().prepared);
            if (options.progress)
                options.progress(
                    {"choosing algorithms", i + 1, schedule.steps.size(), graph.node(step.node).op->name});
        }
        return choices;
    };
    if (!options.algorithms.empty()) return bind_named(graph, schedule, options, bound);
    SelectOptions how = options.select;
    // Limits that follow from the plan would depend on the batch.
    if (!how.profile || how.same_between_batches) return bind_all([&](size_t) { return how; }, true);

    SelectOptions heuristic = how;
    heuristic.profile = false;
    auto limits = workspace_limits(schedule, bind_all([&](size_t) { return heuristic; }, false),
                                   options.workspace_factor);
    auto limited = [&](size_t i) {
        SelectOptions result = how;
        result.workspace_limit = std::min(how.workspace_limit, limits[i]);
        return result;
    };
    return bind_all(limited, true);
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
