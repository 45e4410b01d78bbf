// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "apps/load_and_run/options/options.h"

namespace mge::load_and_run {

// Sets how many threads an operator uses, from the options and what the machine allows: streams and loads
// share it. UserError when there are not as many pinned CPUs as threads, or one is out of this process's
// reach.
void set_threads(const Options& options);

// The CPUs that the options name; empty: none are.
std::vector<int> pinned_cpus(const Options& options);

// Pins the calling thread and its team to the CPUs that the options give the n-th of the threads that run the
// model; nothing without such an option.
void pin_team(const Options& options, int n);

}  // namespace mge::load_and_run
