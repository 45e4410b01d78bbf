// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Times each combination of the lists on the command line by `run_stages`, and prints a row for each test. A
// combination that fails has an error in its row, and the others are run. Returns the exit code: that of the
// first failure.
int run_sweep(cli::Invocation& invocation, const Options& options, void (*run_stages)(Job& job));

}  // namespace mge::load_and_run
