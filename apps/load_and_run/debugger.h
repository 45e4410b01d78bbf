// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --wait-gdb: prints the process id on stdout and goes on when a character comes on stdin.
void wait_for_debugger(Job& job);

}  // namespace mge::load_and_run
