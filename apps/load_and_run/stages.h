// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stages of the tool, one function each; main.cpp determines the order.

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Once per call.
void choose_device(Job& job);
void load_libraries(Job& job);
void load_model(Job& job);
void check_stored_test_cases(Job& job);
void write_outputs(Job& job);

// Once per test.
void compile(Job& job, Test& test);
void run_first(Job& job, Test& test);
void compare(Job& job, Test& test);
void time_runs(Job& job, Test& test);

}  // namespace mge::load_and_run
