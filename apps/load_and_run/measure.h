// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "apps/load_and_run/session.h"

namespace mge::load_and_run {

struct Measured {
    std::vector<double> times;  // milliseconds per run, in the order of their ends
    std::vector<double> waits;  // with --rate: how much of each went by before it started
    double seconds = 0;         // from the first start to the last end
    double joules = 0;          // of all runs; 0 with a reason in `no_energy`
    std::string no_energy;
    std::vector<double> load_ms, compile_ms;  // with --thread: of each load
};

// The timed runs of a test, warm-up before them, as the options ask: one after the other, at a rate of
// arrivals, on several contexts or several loads.
Measured measure(Session& session, Test& test, const Options& options);

}  // namespace mge::load_and_run
