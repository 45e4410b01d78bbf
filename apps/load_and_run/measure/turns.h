// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --round-robin: runs the tests by turns, each twice in a row. The first run follows another test, the
// second one the same test; the difference is the cost of the switch.
void time_by_turns(Job& job);
// UserError if there is only one test.
void check_turns(const Job& job);

}  // namespace mge::load_and_run
