// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --fitting: compiles the first test with every set of options that is valid here. It drops programs
// whose outputs differ from the plain run's, and duplicates of programs. It times the others in turns, so
// that other load on the machine affects all alike, and the session continues with the winner.
void fit(Job& job);

}  // namespace mge::load_and_run
