// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace mge::load_and_run {

// Choice of streams and threads by measuring.
struct HintOptions {
    std::string goal;     // "latency" or "throughput"; empty: no hint
    double seconds = 10;  // for the choice
    bool is_given() const { return !goal.empty(); }
};

void add(CLI::App& app, HintOptions& options);
// Refuses options that set what the hint chooses.
void check_hint(const CLI::App& app, const HintOptions& options);

}  // namespace mge::load_and_run
