// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "apps/load_and_run/options/options.h"

namespace mge::load_and_run {

// Sets the number of threads per operator, from the options and the limits of the machine; streams and loads
// share it. UserError if fewer CPUs are pinned than there are threads, or if a CPU is not available to this
// process.
void set_threads(const Options& options);

// The CPUs that the options name; empty without such options.
std::vector<int> pinned_cpus(const Options& options);

// Pins the calling thread and its team to the CPUs for the n-th thread that runs the model; does nothing
// without such an option.
void pin_team(const Options& options, int n);

}  // namespace mge::load_and_run
