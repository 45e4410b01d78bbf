// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stage --fitting: compiles the first test with every set of options that is legal here, drops those whose
// outputs differ from the plain run's and those that make a program that was seen already, times the others
// in turns, so that what the machine does meanwhile hits all alike, and lets the session go on with the
// winner.
void fit(Job& job);

}  // namespace mge::load_and_run
