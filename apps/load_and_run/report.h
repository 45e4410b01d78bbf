// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Name, dtype and shape of each.
cli::Json ports_json(const std::vector<PortInfo>& ports);
void print_model_info(const Test& test);
void print_results(Job& job);
// Does the work of a call and writes, with --json, the envelope, the fields of schema 1, and the result,
// which begins with `found`. Returns the exit code.
int run_and_report(cli::Invocation& invocation, const Options& options, cli::Json found,
                   void (*work)(Job& job));

}  // namespace mge::load_and_run
