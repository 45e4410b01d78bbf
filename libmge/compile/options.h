// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libmge/base/threads.h"
#include "libmge/kernel/select.h"
#include "libmge/passes/graph_optimization.h"

namespace mge {

struct Pass;

// What the memory plan may do.
struct SequenceOptimization {
    bool enable_mem_plan_opt = true;     // results overwrite inputs that nobody else reads
    bool enable_mem_reuse_alloc = true;  // values that are never alive together share memory
};

// Every option of compilation. Tools, Lite and Python only fill it in.
struct CompileOptions {
    // By pass name: true on, false off; a pass not mentioned is the engine's decision.
    std::map<std::string, bool, std::less<>> passes;
    // Optimisation level: 0 none; 1 algebra and constants; 2 fusions and layouts as well; 3 as 2, with
    // graph_opt.jit on when it is unset. Below zero: the same level, and every run compares each value that a
    // pass replaced with what the graph as it was gives; an Error with code `accuracy` names pass and value.
    int level = 2;
    // Further passes, which run after the engine's own. They have to outlive the compilation.
    std::vector<const Pass*> own_passes;
    GraphOptimization graph_opt;
    SequenceOptimization seq_opt;
    // Verifies the graph after each pass.
    bool verify_passes = false;
    // "auto" (by cost), "nchw", "nhwc", "nChw16c", "NCHW88", …
    std::string layout = "auto";
    // Layouts are compared by measured times, also when algorithms are not measured.
    bool measure_layouts = false;
    SelectOptions select;
    int threads = default_threads();
    Precision precision = Precision::strict;
    // How far fast-run may raise the arena above the heuristic plan.
    double workspace_factor = 2.0;
    // By step, the name of the algorithm to take; an empty name leaves the choice open. Empty: all choices
    // are open. DeviceError names the step whose algorithm is missing, and why.
    std::vector<std::string> algorithms;
    // Other input shapes than the graph's own are an error, instead of being compiled when they come.
    bool const_shape = false;
    // The first run of a context allocates and prepares, and computes nothing.
    bool fake_next_exec = false;
    // 1: the kernels are recorded once and replayed, which every program does that has no shapes to find out
    // at run time (one that has runs as usual, with a warning); 2: the graph behind them is given up as well.
    int comp_node_seq_record_level = 0;
};

// UserError for options that contradict each other or do not exist; Error with code `device` for those that
// this build cannot do.
MGE_API void check(const CompileOptions& options);

struct PassOptions;
// What of them concerns the passes.
MGE_API PassOptions pass_options(const CompileOptions& options);

}  // namespace mge
