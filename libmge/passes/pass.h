// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pass takes a graph and returns a better one that computes the same. Each has a separate file;
// pipeline.cpp lists them in the order in which they run.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/threads/threads.h"
#include "libmge/base/threads/work_observer.h"
#include "libmge/graph/graph.h"
#include "libmge/kernel/select.h"
#include "libmge/passes/pass_switches.h"

namespace mge {

struct Pass;

struct PassOptions {
    // By pass name: true on, false off; other passes are on if `level` reaches their own.
    std::map<std::string, bool, std::less<>> passes;
    int level = 2;
    // Further passes, which run after those of the pipeline.
    std::vector<const Pass*> own_passes;
    PassSwitches switches;
    // The graph is only for its current input shapes, as when it is compiled for them. Otherwise (ahead of
    // time) it must work at every valid shape: no value that follows from a size may be written into it.
    bool fixed_shapes = true;
    // Verifies the graph after each pass.
    bool verify = false;
    // For choose_layout: "auto", or the layout of images; how kernels are chosen.
    std::string layout = "auto";
    SelectOptions select;
    int threads = default_threads();
    Precision precision = Precision::strict;
    // For compress_weights; 0: weights are unchanged.
    int weight_bits = 0;
    // Output of MGE_LOG=passes: 0: no lines; 1: passes that changed the graph; 2: each replaced value.
    int log_level = 1;
    // Receives the progress of a slow pass; empty: no observer.
    WorkObserver progress;
    // Only without fixed_shapes: the graph must work at the sizes that its declared dimensions may have, with
    // one size for each name. All other sizes are fixed.
    bool names_are_sizes = false;
};

// A pass of this level runs only when it is named or its switch is on.
inline constexpr int on_request = 100;

struct Pass {
    std::string_view name;
    int level;  // 0: always; 1: algebra, visible in rounding only; 2: fusion and layouts; on_request
    Graph (*run)(Graph, const PassOptions&);
    // The value of the pass's own switch among the options, which overrides the level. Nullopt if it is
    // unset; null: there is no switch.
    std::optional<bool> (*is_switched_on)(const Graph&, const PassOptions&) = nullptr;
};

MGE_API std::span<const Pass> pipeline();

// The dtype in which an enabled pass will store f32 values; nullopt without such a pass.
MGE_API std::optional<DType> stored_half(const Graph& graph, const PassOptions& options);

// The result of a pass.
struct PassStage {
    std::string pass;
    Graph graph;
};

// Runs the pipeline, and stores the result of each pass in `stages` if that is given. UserError if
// `options.passes` names an unknown pass.
MGE_API Graph run_passes(Graph graph, const PassOptions& options, std::vector<PassStage>* stages = nullptr);

// The passes, in the order of the pipeline.
MGE_API Graph remove_dead_nodes(Graph graph, const PassOptions& options);
MGE_API Graph fold_constants(Graph graph, const PassOptions& options);
MGE_API Graph sink_constants(Graph graph, const PassOptions& options);
MGE_API Graph move_axes(Graph graph, const PassOptions& options);
MGE_API Graph simplify_algebra(Graph graph, const PassOptions& options);
MGE_API Graph merge_duplicates(Graph graph, const PassOptions& options);
MGE_API Graph recognise_formulas(Graph graph, const PassOptions& options);
MGE_API Graph fuse_attention(Graph graph, const PassOptions& options);
MGE_API Graph move_bytes(Graph graph, const PassOptions& options);
MGE_API Graph tabulate_bytes(Graph graph, const PassOptions& options);
MGE_API Graph fuse_step_sums(Graph graph, const PassOptions& options);
MGE_API Graph fold_batch_norm(Graph graph, const PassOptions& options);
MGE_API Graph fuse_grain(Graph graph, const PassOptions& options);
MGE_API Graph fuse_preprocess(Graph graph, const PassOptions& options);
MGE_API Graph fuse_bias(Graph graph, const PassOptions& options);
MGE_API Graph fuse_residual(Graph graph, const PassOptions& options);
MGE_API Graph fuse_activation(Graph graph, const PassOptions& options);
MGE_API Graph fuse_elementwise(Graph graph, const PassOptions& options);
MGE_API Graph fuse_channel_moves(Graph graph, const PassOptions& options);
MGE_API Graph order_channels(Graph graph, const PassOptions& options);
MGE_API Graph compress_weights(Graph graph, const PassOptions& options);
MGE_API Graph store_as_f16(Graph graph, const PassOptions& options);
MGE_API Graph store_as_bf16(Graph graph, const PassOptions& options);
MGE_API Graph choose_layout(Graph graph, const PassOptions& options);

}  // namespace mge
