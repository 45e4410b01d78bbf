// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/cli/files/model_file.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// How the model is run, and which statistics of the times are reported.
struct RunOptions {
    cli::ModelFile model;
    int iterations = 10, warmup_iterations = 1;
    double duration = 0;              // seconds
    std::vector<double> percentiles;  // percentiles of the latency
    double rate = 0;                  // arrivals per second; 0: the next run starts when the last has ended
    int streams = 1;                  // contexts on one program
    int loads = 1;                    // threads that each read, compile and run the model by themselves
    bool startup = false;

    std::string baseline;              // report of an earlier run
    std::string baseline_tool;         // runs its command again, in turns with this one
    bool serve_rounds = false;         // act as the server of rounds
    std::vector<std::string> fail_if;  // "p50>+3%"
    double planted_slowdown = 0;       // per cent, for the self-test of the verdict

    bool fitting = false;
    bool dry_run = false;
    std::string fitting_state;
    std::string dump_fitting_model;

    bool share_param_mem = false;
    bool lite = false, mdl = false;  // the two interfaces of MegEngine's tool; one engine serves both
    bool wait_gdb = false;
};

void add(CLI::App& app, RunOptions& options);
void check(const RunOptions& options);

}  // namespace mge::load_and_run
