// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checks, one function each; main.cpp determines the order.

#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Once per call.
void open_checks(Job& job);
void check_reference(Job& job);
void walk_to_first_difference(Job& job);
void finish_checks(Job& job);
void print_checks(Job& job);

// Once per test.
void watch(Job& job, Test& test);
void end_dumps(Job& job, Test& test);
void watch_on(Job& job, Test& test);  // after stages with observers of their own

// Runs a stage; findings of a guard, and out-of-memory errors, become part of the report.
void guarded(Job& job, Test& test, void (*stage)(Job&, Test&));

}  // namespace mge::load_and_run
