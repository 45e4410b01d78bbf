// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/bind_algorithms.h"

#include <algorithm>
#include <new>

#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/base/rethrow.h"
#include "libmge/compile/memory/release_constants.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/origins.h"
#include "libmge/kernel/prepare_together.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/elementwise/fused/fused_region.h"

namespace mge {
namespace {

// Returns the known algorithm of the same work, or nullptr.
const std::string* known_algorithm(const Node& node, const CompileOptions& options) {
    if (node.origins.empty()) return nullptr;
    for (auto& known : options.known_algorithms)
        if (known.op == node.op->name && known.sources == node.origins) return &known.algorithm;
    return nullptr;
}

NodeProblem problem_of(const Graph& graph, const Node& node, const CompileOptions& options) {
    bool packs = options.switches.pack_weights.value_or(true);
    return {*node.op, node.params, operands_of(graph, node, packs), options.threads, options.precision};
}

Choice choose(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    NodeProblem problem = problem_of(graph, node, options);
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

// Adds the node to MemoryError.
template <class Fn>
auto at_node(const Graph& graph, const Node& node, Fn&& fn) {
    try {
        return fn();
    } catch (const MemoryError&) {
        rethrow_in(operator_text(graph, node));
    } catch (const std::bad_alloc&) {
        rethrow_in(operator_text(graph, node));
    }
}

Choice bind(const Graph& graph, const Node& node, const CompileOptions& options, const SelectOptions& how) {
    return at_node(graph, node, [&] { return choose(graph, node, options, how); });
}

// Uses exactly the named algorithms; a step without a name selects its own.
std::vector<Choice> bind_named(const Graph& graph, const Schedule& schedule, const CompileOptions& options,
                               const Bound& bound) {
    if (options.algorithms.size() != schedule.steps.size())
        throw DeviceError(text("algorithms for ", counted(options.algorithms.size(), "step"),
                               " are given, the program here has ", schedule.steps.size()));
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

// Returns the workspace of the heuristic choice for a node. Measured times determine it without preparing the
// node. If measuring is permitted, it happens here, because the times are needed next.
size_t heuristic_workspace(const Graph& graph, const Node& node, const CompileOptions& options) {
    SelectOptions heuristic = options.select;
    heuristic.profile = false;
    if (!known_algorithm(node, options)) {
        NodeProblem problem = problem_of(graph, node, options);
        at_node(graph, node, [&] { return problem.find_cost(options.select); });
        if (auto workspace = problem.find_heuristic_workspace(heuristic)) return *workspace;
    }
    size_t workspace = bind(graph, node, options, heuristic).prepared.workspace();
    release_pages_of_constants(graph, node);  // it is bound much later
    return workspace;
}

// Returns the maximum workspace of each step if the arena may grow only by the options' factor.
std::vector<size_t> workspace_limits(const Graph& graph, const Schedule& schedule,
                                     const CompileOptions& options) {
    std::vector<size_t> workspaces;
    for (auto& step : schedule.steps) {
        auto& node = graph.node(step.node);
        workspaces.push_back(step.is_dynamic ? 0 : heuristic_workspace(graph, node, options));
        if (options.progress)
            options.progress(
                {"measuring algorithms", workspaces.size(), schedule.steps.size(), node.op->name});
    }
    auto live = live_bytes(arena_blocks(schedule, workspaces).blocks);
    live.resize(schedule.steps.size());
    size_t bound = live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    auto allowed = size_t(double(bound) * options.workspace_factor);
    std::vector<size_t> limits;
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
        size_t without = live[i] - align_up(workspaces[i]);
        limits.push_back(allowed > without ? (allowed - without) / arena_alignment * arena_alignment : 0);
    }
    return limits;
}

// Collects fused steps on a GPU, whose sources are compiled together before the first is measured.
void prepare_fused(const Graph& graph, const Schedule& schedule, const CompileOptions& options) {
    SelectOptions heuristic = options.select;
    heuristic.profile = false;
    for (auto& step : schedule.steps) {
        auto& node = graph.node(step.node);
        bool is_fused = node.op == &ops::FusedElementwise::info || node.op == &ops::FusedRegion::info;
        if (is_fused && !step.is_dynamic && !step.device.is_host()) bind(graph, node, options, heuristic);
    }
}

std::vector<Choice> bind_chosen(const Graph& graph, const Schedule& schedule, const CompileOptions& options,
                                const Bound& bound, PrepareTogether& together) {
    if (options.select.profile) {
        prepare_fused(graph, schedule, options);
        together.finish();
    }
    std::vector<size_t> limits;
    // Limits that follow from the plan would depend on the batch size.
    if (options.select.profile && !options.select.same_between_batches)
        limits = workspace_limits(graph, schedule, options);
    std::vector<Choice> choices;
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
        auto& step = schedule.steps[i];
        SelectOptions how = options.select;
        if (!limits.empty()) how.workspace_limit = std::min(how.workspace_limit, limits[i]);
        choices.push_back(step.is_dynamic ? Choice{} : bind(graph, graph.node(step.node), options, how));
        bound(i, choices.back().prepared);
        if (options.progress)
            options.progress(
                {"choosing algorithms", i + 1, schedule.steps.size(), graph.node(step.node).op->name});
    }
    return choices;
}

}  // namespace

std::vector<Choice> bind_algorithms(const Graph& graph, const Schedule& schedule,
                                    const CompileOptions& options, const Bound& bound) {
    PrepareTogether together;
    CompileOptions shared = options;
    // A nested graph leaves its parts to the enclosing program.
    if (!shared.select.together) shared.select.together = &together;
    auto choices = options.algorithms.empty() ? bind_chosen(graph, schedule, shared, bound, together)
                                              : bind_named(graph, schedule, shared, bound);
    together.finish();
    return choices;
}

ArenaBlocks arena_blocks(const Schedule& schedule, const std::vector<size_t>& workspaces) {
    ArenaBlocks result;
    for (auto& buffer : schedule.buffers) {
        bool in_arena = buffer.kind == Buffer::Kind::arena;
        result.buffer_block.push_back(in_arena ? int(result.blocks.size()) : -1);
        if (in_arena) result.blocks.push_back({buffer.bytes, buffer.first, buffer.last});
    }
    for (size_t i = 0; i < workspaces.size(); ++i) {
        size_t bytes = workspaces[i];
        result.workspace_block.push_back(bytes ? int(result.blocks.size()) : -1);
        if (bytes) result.blocks.push_back({bytes, int(i), int(i)});
    }
    return result;
}

}  // namespace mge
