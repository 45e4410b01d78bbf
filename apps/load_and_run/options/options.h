// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line, one struct per group. A group is a plain struct, `add` (its flags) and `check`
// (contradictions and missing companions: UserError; devices and libraries that are not there: DeviceError).

#include "apps/cli/tool.h"
#include "apps/load_and_run/checks/options.h"
#include "apps/load_and_run/options/algorithms.h"
#include "apps/load_and_run/options/device.h"
#include "apps/load_and_run/options/graph.h"
#include "apps/load_and_run/options/hint.h"
#include "apps/load_and_run/options/input.h"
#include "apps/load_and_run/options/output.h"
#include "apps/load_and_run/options/run.h"
#include "apps/load_and_run/options/sweep.h"
#include "apps/load_and_run/profile.h"

namespace mge::load_and_run {

struct Options {
    SweepOptions sweep;
    HintOptions hint;
    RunOptions run;
    DeviceOptions device;
    InputOptions input;
    AlgorithmOptions algorithms;
    GraphOptions graph;
    OutputOptions output;
    CheckOptions checks;
    ProfileOptions profile;
};

// Fills in `invocation` too. Throws cli::Exit after --help, --version or a usage error.
Options parse_options(cli::Invocation& invocation);

}  // namespace mge::load_and_run
