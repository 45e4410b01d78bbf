// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "apps/cli/options/key_options.h"
#include "libmge/inspect/compare.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// Checks and recordings in addition to the times.
struct CheckOptions {
    // Accuracy.
    std::string compare, compare_with;
    cli::ModelKeys compare_keys;  // empty: those of the model
    std::optional<double> rtol, atol;
    std::string metric;  // empty: max-abs
    bool first_diff = false;
    std::string reproducer;  // file
    double range = 0;        // 0: no check
    bool check_finite = false, check_dispatch = false;
    std::string check_var_value;  // N[:start]

    // Determinism.
    bool reproducible = false;
    std::string save_plan, replay_plan;
    bool require_cache = false;

    // Inspection.
    std::string io_dump, bin_io_dump, bin_out_dump;
    bool io_dump_stdout = false, io_dump_stderr = false;
    std::string mem_limit;  // "64MiB"
    std::string memory_timeline, static_memory_info;

    bool has_tolerance() const { return rtol || atol || !metric.empty(); }
    Tolerance tolerance() const;
    std::optional<size_t> memory_limit() const;
};

void add(CLI::App& app, CheckOptions& options);
void check(const CheckOptions& options);
// With --first-diff: refuses options of `app` that need a run of the whole program.
void check_walk(const CLI::App& app, const CheckOptions& options);

// "N[:start]" of --check-var-value.
struct Repetition {
    int interval = 1;
    size_t start = 0;
};
Repetition parse_repetition(const std::string& text);

}  // namespace mge::load_and_run
