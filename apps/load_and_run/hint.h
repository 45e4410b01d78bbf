// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Times the numbers of streams and threads that fit this machine by `run_stages`, as far as the time limit
// allows, and sets the best ones for --hint in `options`. Prints the figures and returns them for the report.
cli::Json choose_streams_and_threads(const cli::Invocation& invocation, Options& options,
                                     void (*run_stages)(Job& job));

}  // namespace mge::load_and_run
