// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libmge/base/threads.h"
#include "libmge/kernel/select.h"

namespace mge {

// Every option of compilation. Tools, Lite and Python only fill it in.
struct CompileOptions {
    // By pass name: true on, false off; a pass not mentioned is the engine's decision.
    std::map<std::string, bool, std::less<>> passes;
    // Optimisation level: 0 none; 1 algebra and constants; 2 fusions and layouts as well.
    int level = 2;
    // Verifies the graph after each pass.
    bool verify_passes = false;
    // "auto" (by cost), "nchw", "nhwc", "nChw16c", …
    std::string layout = "auto";
    SelectOptions select;
    int threads = default_threads();
    Precision precision = Precision::strict;
    // How far fast-run may raise the arena above the heuristic plan.
    double workspace_factor = 2.0;
    // By step, the name of the algorithm to take; an empty name leaves the choice open. Empty: all choices
    // are open. DeviceError names the step whose algorithm is missing, and why.
    std::vector<std::string> algorithms;
};

struct PassOptions;
// What of them concerns the passes.
PassOptions pass_options(const CompileOptions& options);

}  // namespace mge
